import { flushCompileCache } from 'node:module';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { runProgram, type RunningProgram } from '@wherry/service/run-program.ts';
import { embeddedConfig } from './config.ts';

/*
 * `npm start`: the whole service on one machine. Standard output is for a person; log lines go to standard error.
 * package.json keeps V8's young generation small: what a start leaves there is never collected in a service that is idle,
 * and was a fifth of its memory.
 */
async function start(): Promise<RunningProgram> {
  const config = embeddedConfig();
  const logger = createLogger({ name: 'wherry', level: config.logLevel });
  // Loaded after the configuration is validated, so that a mistake in it is reported at once.
  const { startEmbedded } = await import('./start-embedded.ts');
  const service = await startEmbedded({ config, logger, print: (text) => process.stdout.write(`${text}\n`) });
  // The compiled code is kept for the next start, however this one ends.
  flushCompileCache();
  return service;
}

runProgram({ name: 'wherry', start, clock });
