import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { FollowedRing } from '@wherry/service/keys/followed-ring.ts';
import { keyRingOver } from '@wherry/service/keys/ring-storage.ts';
import { isStartError } from '@wherry/service/start-error.ts';
import type { Manager } from '../build-manager.ts';
import { ensureFirstStart } from '../first-start/ensure-first-start.ts';
import type { Cluster } from './cluster.ts';

const RETRY_MS = 1000;

type Beginning = Pick<Parameters<typeof ensureFirstStart>[0], 'audit' | 'clock'> & {
  ring: FollowedRing;
  cluster: Cluster;
  manager: Manager;
  managementKey: string | undefined;
  logger: Logger;
  signal: AbortSignal;
};

/** What needs the API server: it is retried until it succeeds; then the program is ready. */
export function beginWork(
  { cluster, manager, ring, logger, signal, ...first }: Beginning,
  state: { problem: string | undefined },
): void {
  const work = async (): Promise<void> => {
    const { store } = cluster;
    const retried = { state, clock: first.clock, logger, signal };
    await tryUntilDone(() => ring.start(), { what: 'The encryption keys cannot be read', ...retried });
    const keyRing = keyRingOver(ring);
    const begin = { store, keyRing, ...first, whenNoneIsLeft: first.managementKey !== undefined };
    await tryUntilDone(() => ensureFirstStart(begin), {
      what: 'The Settings and the first key cannot be created or read',
      ...retried,
    });
    state.problem = 'The manager is reading the Secrets that values refer to.';
    await cluster.referencedSecrets.start();
    state.problem = 'The manager is reading the keys.';
    await manager.start();
    cluster.election.start();
    if (!signal.aborted) state.problem = undefined;
  };
  work().catch((err: unknown) => {
    if (!signal.aborted) logger.error({ err }, 'the manager cannot begin its work');
  });
}

async function tryUntilDone(
  work: () => Promise<unknown>,
  {
    what,
    state,
    clock,
    logger,
    signal,
  }: { what: string; state: { problem: string | undefined }; clock: Clock; logger: Logger; signal: AbortSignal },
): Promise<void> {
  for (let logged = ''; ;) {
    try {
      await work();
      return;
    } catch (error) {
      signal.throwIfAborted();
      const reason = isDomainError(error) || isStartError(error) ? error.message : 'Its log says why.';
      state.problem = `${what}: ${reason}`;
      if (reason !== logged) logger.warn({ err: error, what }, 'the manager cannot begin its work yet; trying again');
      logged = reason;
      await clock.sleep(RETRY_MS, signal);
    }
  }
}
