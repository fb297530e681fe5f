import { writeSync } from 'node:fs';
import process from 'node:process';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { fatalMessage } from '@wherry/service/start-error.ts';
import { loadRuntimeConfig } from './config.ts';
import { runBesideService } from './program/run-beside-service.ts';

async function main(): Promise<void> {
  const config = loadRuntimeConfig();
  if (config.pod === undefined) return runBesideService(config, clock);
  // Modules that are not needed on one machine are not loaded there: TLS costs each process memory.
  const { runInPod } = await import('./program/run-in-pod.ts');
  await runInPod({ config, pod: config.pod, clock });
}

main().catch((error: unknown) => {
  writeSync(2, `${fatalMessage(error)}\n`);
  process.exit(1);
});
