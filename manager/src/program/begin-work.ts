import { DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Manager } from '../build-manager.ts';
import { ensureFirstStart } from '../first-start/ensure-first-start.ts';
import type { Cluster } from './cluster.ts';

const RETRY_MS = 1000;

type Beginning = Pick<Parameters<typeof ensureFirstStart>[0], 'audit' | 'keyRing' | 'clock'> & {
  cluster: Cluster;
  manager: Manager;
  managementKey: string | undefined;
  logger: Logger;
  signal: AbortSignal;
};

/** What needs the API server: it is retried until it succeeds; then the program is ready. */
export function beginWork(
  { cluster, manager, logger, signal, ...first }: Beginning,
  state: { problem: string | undefined },
): void {
  const work = async (): Promise<void> => {
    const { store } = cluster;
    await tryUntilDone(() => ensureFirstStart({ store, ...first, whenNoneIsLeft: first.managementKey !== undefined }), {
      state,
      clock: first.clock,
      logger,
      signal,
    });
    state.problem = 'The manager is reading the Secrets that values refer to.';
    await cluster.referencedSecrets.start();
    state.problem = 'The manager is reading the keys.';
    await manager.start();
    if (!signal.aborted) state.problem = undefined;
  };
  work().catch((err: unknown) => {
    if (!signal.aborted) logger.error({ err }, 'the manager cannot begin its work');
  });
}

async function tryUntilDone(
  work: () => Promise<unknown>,
  {
    state,
    clock,
    logger,
    signal,
  }: { state: { problem: string | undefined }; clock: Clock; logger: Logger; signal: AbortSignal },
): Promise<void> {
  for (let logged = ''; ;) {
    try {
      await work();
      return;
    } catch (error) {
      signal.throwIfAborted();
      const reason = error instanceof DomainError ? error.message : 'Its log says why.';
      state.problem = `The Settings and the first key cannot be created or read: ${reason}`;
      if (reason !== logged)
        logger.warn({ err: error }, 'the Settings and the first key cannot be created or read; trying again');
      logged = reason;
      await clock.sleep(RETRY_MS, signal);
    }
  }
}
