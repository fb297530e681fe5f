import { readFileSync } from 'node:fs';
import path from 'node:path';
import { blocksOf, commandsOf, onPorts, type Block } from '../testing/page-blocks.ts';
import { Shell } from '../testing/shell.ts';

const LANGUAGES = ['sh', 'json', 'html', 'text'];
/** It prints its arguments: this machine has no `psql`, and the test does its work. */
const STAND_IN = 'psql() { printf "%s\\n" "$@"; }';

/** Where the service is, and the key for its management port. */
export interface Target {
  functions: string;
  management: string;
  key: string;
}

/** The output of a command according to the page, and the actual output. */
interface Compared {
  command: string;
  promised: unknown;
  printed: unknown;
}

/** One folder of `examples/`, whose README a person follows in a shell. */
export class Example {
  readonly name: string;
  readonly #folder: string;
  readonly #shell: Shell;
  readonly #deploy: Block[];
  readonly #use: Block[];

  /** @param folder a copy of the example's, since no process starts in the repository */
  constructor(folder: string, environment: Record<string, string>) {
    this.name = path.basename(folder);
    this.#folder = folder;
    this.#shell = new Shell(folder, environment);
    const page = readFileSync(path.join(folder, 'README.md'), 'utf8');
    const sections = page.split(/^## /m);
    const isDeploy = (section: string): boolean => section.startsWith('Deploy\n');
    this.#deploy = blocksOf(sections.filter(isDeploy).join(''), LANGUAGES);
    this.#use = blocksOf(sections.filter((section) => !isDeploy(section)).join(''), LANGUAGES);
  }

  /** The commands of *Deploy* that need no service: they come first. @param psql takes the arguments of that program */
  async prepare(psql: (args: string[], folder: string) => Promise<void>): Promise<void> {
    await this.#shell.type(STAND_IN);
    for (const command of this.#deployCommands().filter((one) => !isForService(one))) {
      const output = await this.#run(command);
      if (command.startsWith('psql ')) await psql(output.trimEnd().split('\n'), this.#folder);
    }
  }

  /** The rest of *Deploy*. @throws Error with what a command printed that failed */
  async deploy(target: Target): Promise<void> {
    await this.#shell.type(`KEY='${target.key}'`);
    for (const command of this.#deployCommands().filter(isForService)) {
      const output = await this.#run(onPorts(command, target));
      if (/"error"|curl:/.test(output)) throw new Error(`${this.name}: ${command}\nprinted ${output}`);
    }
  }

  /** Everything after *Deploy*. @returns each output that the page shows beside the one that was seen */
  async use(target: Target): Promise<Compared[]> {
    const compared: Compared[] = [];
    let last = { command: '', output: '' };
    for (const block of this.#use) {
      if (block.language === 'sh') {
        for (const command of commandsOf(block)) last = { command, output: await this.#run(onPorts(command, target)) };
      } else {
        const read = block.language === 'json' ? parsed : trimmed;
        compared.push({ command: last.command, promised: read(block.text), printed: read(last.output) });
      }
    }
    return compared;
  }

  close(): void {
    this.#shell.close();
  }

  #deployCommands(): string[] {
    return this.#deploy.flatMap(commandsOf);
  }

  async #run(command: string): Promise<string> {
    const { output, exitCode } = await this.#shell.type(command);
    if (exitCode !== 0) throw new Error(`${this.name}: ${command}\nended with ${exitCode}: ${output}`);
    return output;
  }
}

const isForService = (command: string): boolean => command.includes('localhost:');
const trimmed = (text: string): string => text.trim();

/** The text itself where it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
