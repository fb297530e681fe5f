import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { madeScript } from '../../build-process/made-script.ts';

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** What of Arborist's libraries is left out. */
const ABSENT = [
  'cacache',
  '@npmcli/run-script',
  'bin-links',
  '@npmcli/metavuln-calculator',
  'npm-registry-fetch',
  '@npmcli/node-gyp',
  '@npmcli/git',
];

let made: Promise<string> | undefined;

/**
 * The install process's program as one script: it goes over standard input, so that the process needs to read no file.
 * It takes half a second to make, and is always the same.
 */
export function makeInstallProgram(): Promise<string> {
  made ??= findOrBundle().catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  return made;
}

async function findOrBundle(): Promise<string> {
  return (await madeScript(here('install-process.ts'))) ?? bundleProgram();
}

async function bundleProgram(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [here('install-process.ts')],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    logLevel: 'silent',
    alias: { pacote: here('pacote.ts'), ...Object.fromEntries(ABSENT.map((name) => [name, here('nothing.ts')])) },
  });
  return outputFiles[0]?.text ?? '';
}
