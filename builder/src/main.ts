import type { Logger } from '@wherry/core/ports/logger.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { runProgram, type RunningProgram } from '@wherry/service/run-program.ts';
import { builderConfig, installerConfig } from './config.ts';
import { startBuilder } from './start-builder.ts';
import { startInstaller } from './start-installer.ts';

/*
 * Two programs, each a container beside the operator: the builder, and with the argument `installer` the one that has
 * the registry's token and fetches packages for it. After SIGTERM, running builds have a while to finish.
 */
const name = process.argv[2] === 'installer' ? 'installer' : 'builder';

async function builder(): Promise<RunningProgram> {
  const config = builderConfig();
  return startBuilder({ config, logger: loggerOf(config) });
}

async function installer(): Promise<RunningProgram> {
  const config = installerConfig();
  return startInstaller({ config, logger: loggerOf(config) });
}

function loggerOf({ logLevel, instance }: ReturnType<typeof builderConfig | typeof installerConfig>): Logger {
  return createLogger({ name, level: logLevel }).child(instance === undefined ? {} : { instance });
}

runProgram({ name: `wherry ${name}`, start: name === 'installer' ? installer : builder, clock });
