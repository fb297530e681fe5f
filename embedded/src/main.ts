import { flushCompileCache } from 'node:module';
import { createLogger } from '@wherry/service/logger.ts';
import { onStopSignal } from '@wherry/service/on-stop-signal.ts';
import { requireNode24 } from '@wherry/service/require-node.ts';
import { lastWords } from '@wherry/service/start-error.ts';
import { embeddedConfig } from './config.ts';

/*
 * `npm start`: the whole service on one machine. Standard output is for a person; log lines go to standard error.
 */
requireNode24('wherry');

let stop: (() => Promise<void>) | undefined;
let stopping = false;

async function start(): Promise<void> {
  const config = embeddedConfig();
  const logger = createLogger({ name: 'wherry', level: config.logLevel });
  // Loaded after the configuration was found good, so that a mistake in it is told at once.
  const { startEmbedded } = await import('./start-embedded.ts');
  const service = await startEmbedded({ config, logger, print: (text) => process.stdout.write(`${text}\n`) });
  stop = () => service.stop();
  if (stopping) await end();
  // What was compiled for this start is there for the next one, however this one ends.
  flushCompileCache();
}

async function end(): Promise<void> {
  await stop?.();
  process.exit(0);
}

function onSignal(): void {
  stopping = true;
  if (stop !== undefined) void end();
}

onStopSignal(onSignal);

try {
  await start();
} catch (error) {
  process.stderr.write(`wherry: ${lastWords(error)}\n`);
  process.exit(1);
}
