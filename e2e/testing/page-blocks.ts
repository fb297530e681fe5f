/** A fenced block of a Markdown page: commands, or what they print. */
export interface Block {
  language: string;
  text: string;
}

/** The blocks of a page in these languages, in order. */
export function blocksOf(page: string, languages: readonly string[] = ['sh', 'json']): Block[] {
  const fences = page.matchAll(/^```(\w+)\n(.*?)^```$/gms);
  return [...fences]
    .map(([, language = '', text = '']) => ({ language, text: text.trimEnd() }))
    .filter(({ language }) => languages.includes(language));
}

/** The commands of a block, which empty lines separate. */
export function commandsOf({ text }: Block): string[] {
  return text.split(/\n{2,}/);
}

/** The ports that the project's pages name. */
export const MENTIONED_PORTS = { functions: 8000, management: 9000 };

/** A command of a page, with the hosts and ports (`localhost:1234`) that a service really has. */
export function onPorts(command: string, { functions, management }: { functions: string; management: string }): string {
  return command
    .replaceAll(`localhost:${MENTIONED_PORTS.functions}`, functions)
    .replaceAll(`localhost:${MENTIONED_PORTS.management}`, management);
}
