import type { Logger } from '@wherry/core/ports/logger.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { onStopSignal } from '@wherry/service/on-stop-signal.ts';
import { requireNode24 } from '@wherry/service/require-node.ts';
import { lastWords } from '@wherry/service/start-error.ts';
import { builderConfig, installerConfig } from './config.ts';
import { startBuilder } from './start-builder.ts';
import { startInstaller } from './start-installer.ts';

/*
 * Two programs, each a container beside the operator: the builder, and with the argument `installer` the one that has the
 * registry's token and gets it packages. SIGTERM lets running builds end for a while.
 */
const name = process.argv[2] === 'installer' ? 'installer' : 'builder';
requireNode24(`wherry ${name}`);

async function main(): Promise<void> {
  // Before the start: who is asked to stop meanwhile stops after it.
  const asked = Promise.withResolvers<undefined>();
  onStopSignal(() => asked.resolve(undefined));
  const program = await (name === 'installer' ? installer() : builder());
  await asked.promise;
  await program.stop();
  process.exit(0);
}

async function builder(): Promise<{ stop(): Promise<void> }> {
  const config = builderConfig();
  return startBuilder({ config, logger: loggerOf(config) });
}

async function installer(): Promise<{ stop(): Promise<void> }> {
  const config = installerConfig();
  return startInstaller({ config, logger: loggerOf(config) });
}

function loggerOf({ logLevel, instance }: ReturnType<typeof builderConfig | typeof installerConfig>): Logger {
  return createLogger({ name, level: logLevel }).child(instance === undefined ? {} : { instance });
}

main().catch((error: unknown) => {
  process.stderr.write(`${name}: ${lastWords(error)}\n`);
  process.exit(1);
});
