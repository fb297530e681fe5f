import { spawnSync } from 'node:child_process';
import process from 'node:process';

const LOADER = `
import { registerHooks } from 'node:module';
import { readFileSync } from 'node:fs';
const URL_OF_ARTIFACT = 'file:///app/handler.mjs';
const source = readFileSync(0, 'utf8');
registerHooks({
  resolve: (specifier, context, next) => specifier === URL_OF_ARTIFACT ? { url: specifier, format: 'module', shortCircuit: true } : next(specifier, context),
  load: (url, context, next) => url === URL_OF_ARTIFACT ? { format: 'module', source, shortCircuit: true } : next(url, context),
});
process.setSourceMapsEnabled(true);
try {
  const { default: handler } = await import(URL_OF_ARTIFACT);
  console.log(JSON.stringify({ value: await handler() }));
} catch (error) {
  console.log(JSON.stringify({ stack: String(error?.stack ?? error) }));
}`;

/** Loads an artifact as the runtime does, at `/app/handler.mjs`, and calls its default export without arguments. */
export function runArtifact(artifact: string): { value?: unknown; stack?: string } {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', LOADER], {
    input: artifact,
    encoding: 'utf8',
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as { value?: unknown; stack?: string };
}
