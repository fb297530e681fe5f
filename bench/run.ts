import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/*
 * Runs one benchmark by its name: npm run bench -- start-and-memory
 */
const [name = '', ...rest] = process.argv.slice(2);
const file = path.join(import.meta.dirname, `${name}.ts`);

if (!/^[a-z][a-z0-9-]*$/.test(name) || name === 'run' || !existsSync(file)) {
  const known = readdirSync(import.meta.dirname).flatMap((entry) => /^(?!run\.)(.*)\.ts$/.exec(entry)?.[1] ?? []);
  console.error(`Say which benchmark: npm run bench -- ${known.join(' | ')}`);
  process.exitCode = 1;
} else {
  process.argv = [process.argv[0] ?? '', file, ...rest];
  // What test harnesses measure their limits in: jest's processes have it from e2e/tooling.
  globalThis.machineTime = () => performance.now();
  await import(pathToFileURL(file).href);
}
