import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Resource } from '@wherry/core/resources/kinds.ts';
import type { Informer } from '@wherry/service/informer.ts';

/** How long an answer waits for the manager's own caches to have seen its write. */
const LIMIT_MS = 1000;

type Cached = 'ApiKey' | 'KeyGroup' | 'Settings';

/**
 * Delays an answer until the caches that authentication reads have seen the write, so that a created or revoked key
 * takes effect with the next call. It gives up after a second: the write itself is safe.
 */
export class WriteBarrier {
  readonly #informers: { [K in Cached]: Informer<K> };
  readonly #clock: Clock;

  constructor(informers: { [K in Cached]: Informer<K> }, clock: Clock) {
    this.#informers = informers;
    this.#clock = clock;
  }

  /** Waits for a created or changed object. @returns the same. */
  async seen<K extends Cached>(written: Resource<K>): Promise<Resource<K>> {
    const informer = this.#informers[written.kind];
    const version = BigInt(written.metadata.resourceVersion);
    await this.#until(informer, () => BigInt(informer.resourceVersion()) >= version);
    return written;
  }

  /** Waits until a deleted object is gone. */
  async gone<K extends Cached>(deleted: Resource<K>): Promise<void> {
    const informer = this.#informers[deleted.kind];
    await this.#until(informer, () => informer.get(deleted.metadata.name)?.metadata.uid !== deleted.metadata.uid);
  }

  async #until(informer: Pick<Informer<Cached>, 'onChange'>, holds: () => boolean): Promise<void> {
    if (holds()) return;
    const done = Promise.withResolvers<undefined>();
    const stop = informer.onChange(() => {
      if (holds()) done.resolve(undefined);
    });
    const cancel = this.#clock.after(LIMIT_MS, () => done.resolve(undefined));
    await done.promise;
    stop();
    cancel();
  }
}
