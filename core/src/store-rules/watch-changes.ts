import { conflict, invalid, type DomainError } from '../errors.ts';
import type { WatchEvent } from '../ports/resource-store.ts';
import type { Kind, Resource } from '../resources/kinds.ts';

/** A bounded log of changes, as a watch reads it. Every read is of one moment. */
interface ChangeLog<K extends Kind> {
  /** The newest resourceVersion of the store, and the oldest from which every later change is still there. */
  bounds(): { oldest: number; newest: number };
  /** The current objects, and the state that they are. */
  snapshot(): { items: Resource<K>[]; resourceVersion: number };
  /** The first changes of the kind after a resourceVersion, in order; fresh copies. */
  after(resourceVersion: number): Exclude<WatchEvent<K>, { type: 'bookmark' }>[];
}

/** Wakes those who wait for a change. */
export class Bell {
  readonly #waiting = new Set<() => void>();

  /** Wakes all who wait now. */
  ring(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next wake-up, or when the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    this.#waiting.add(wake);
    signal.addEventListener('abort', wake);
    try {
      await promise;
    } finally {
      this.#waiting.delete(wake);
      signal.removeEventListener('abort', wake);
    }
  }
}

/**
 * A store's watch: reads the log from its own position on, so that a slow reader delays nobody and costs no memory; one
 * that falls behind the log's oldest change is notified that it has expired. From `0` it starts with the current
 * objects as `added`, as Kubernetes does. Ends when the signal aborts; throws what the log throws.
 */
export async function* watchChanges<K extends Kind>(
  log: ChangeLog<K>,
  bell: Bell,
  { resourceVersion, signal }: { resourceVersion: string; signal: AbortSignal },
): AsyncGenerator<WatchEvent<K>, void> {
  let position = parseVersion(resourceVersion);
  if (position === 0) {
    const start = log.snapshot();
    position = start.resourceVersion;
    yield* untilAborted(
      start.items.map((object) => ({ type: 'added' as const, object })),
      signal,
    );
  }
  while (!signal.aborted) {
    const { oldest, newest } = log.bounds();
    if (position < oldest || position > newest) throw expired(position);
    const changes = log.after(position);
    const last = changes.at(-1);
    if (last === undefined) {
      // Changes of other kinds move a quiet watch along, so that it does not expire. Nothing may be awaited between the
      // read and the wait: a wake-up would be missed.
      position = newest;
      await bell.next(signal);
    } else {
      yield* untilAborted(changes, signal);
      position = Number(last.object.metadata.resourceVersion);
    }
  }
}

function* untilAborted<T>(items: T[], signal: AbortSignal): Generator<T, void> {
  for (const item of items) {
    if (signal.aborted) return;
    yield item;
  }
}

/** What a watch from too old a state ends with. The prefix is part of the port's contract. */
function expired(resourceVersion: number): DomainError {
  return conflict(`Expired: the changes after resourceVersion ${resourceVersion} are no longer kept: list again`);
}

function parseVersion(resourceVersion: string): number {
  if (/^(0|[1-9][0-9]{0,15})$/.test(resourceVersion)) return Number(resourceVersion);
  throw invalid('resourceVersion must be one that the store returned', [
    { path: 'resourceVersion', message: 'was not returned by the store' },
  ]);
}
