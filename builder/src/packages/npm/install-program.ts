import { fileURLToPath } from 'node:url';
import { processScript } from '../../process-script.ts';

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** The libraries of Arborist that are left out. */
const ABSENT = [
  'cacache',
  '@npmcli/run-script',
  'bin-links',
  '@npmcli/metavuln-calculator',
  'npm-registry-fetch',
  '@npmcli/node-gyp',
  '@npmcli/git',
];

let script: Promise<string> | undefined;

/**
 * The install process's program as one script: it goes over standard input, so that the process needs to read no file.
 * It takes half a second to make, and is always the same.
 */
export function makeInstallProgram(): Promise<string> {
  const alias = {
    pacote: here('pacote.ts'),
    ...Object.fromEntries(ABSENT.map((name) => [name, here('absent-library.ts')])),
  };
  script ??= processScript(here('install-process.ts'), alias).catch((error: unknown) => {
    script = undefined;
    throw error;
  });
  return script;
}
