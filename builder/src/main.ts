import { createLogger } from '@wherry/service/logger.ts';
import { onStopSignal } from '@wherry/service/on-stop-signal.ts';
import { requireNode24 } from '@wherry/service/require-node.ts';
import { lastWords } from '@wherry/service/start-error.ts';
import { builderConfig } from './config.ts';
import { startBuilder } from './start-builder.ts';

/*
 * The builder as a program: the container beside the operator. SIGTERM lets running builds end for a while.
 */
requireNode24('wherry builder');

async function main(): Promise<void> {
  // Before the start: who is asked to stop meanwhile stops after it.
  const asked = Promise.withResolvers<undefined>();
  onStopSignal(() => asked.resolve(undefined));
  const config = builderConfig();
  const logger = createLogger({ name: 'builder', level: config.logLevel }).child(config.instance === undefined ? {} : { instance: config.instance });
  const builder = await startBuilder({ config, logger });
  await asked.promise;
  await builder.stop();
  process.exit(0);
}

main().catch((error: unknown) => {
  process.stderr.write(`builder: ${lastWords(error)}\n`);
  process.exit(1);
});
