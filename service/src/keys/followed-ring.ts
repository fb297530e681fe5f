import { DomainError, isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { FollowedObject, SystemObject, SystemObjects } from '@wherry/core/ports/system-objects.ts';
import { Backoff } from '../backoff.ts';
import { Listeners } from '../listeners.ts';
import { isStartError, StartError } from '../start-error.ts';
import { keyRingOf, keysJsonSchema, parseKeysJson, serializeKeysJson, type KeysPlace } from './keys-json.ts';
import { refuseForeignKeys } from './refuse-foreign-keys.ts';
import type { RingStorage } from './ring-storage.ts';
import { acknowledge, lostVersions, withoutReaders, type Ring } from './ring-transitions.ts';

/** The entry of the Secret. */
const ENTRY = 'keys.json';
/** How many other writers may be first. */
const ATTEMPTS = 20;
const RETRY = { firstMs: 200, lastMs: 5000 };
/** How often an unknown version may have the Secret read again. */
const MISSED_MS = 1000;
/** A program that stops waits this long to have its name removed from the readers. */
const LEAVE_MS = 2000;

interface FollowedRingOptions {
  secrets: SystemObjects;
  /** What is encrypted with the keys. */
  store: Pick<ResourceStore, 'list'>;
  /** The same Secret, by a watch. */
  followed: FollowedObject;
  /** Of the Secret. */
  name: string;
  systemNamespace: string;
  /** Which program it is that reads: the name of its pod. */
  reader: string;
  clock: Clock;
  logger: Logger;
}

/**
 * The master encryption keys of a cluster: one Secret, which every replica of manager and operator follows by a watch.
 * Each acknowledges in the Secret itself which versions it knows. Since it registers by compare-and-swap, it can never
 * be overlooked: either it has read the newest key, or whoever activates that key sees a reader that has not.
 */
export class FollowedRing implements RingStorage {
  readonly #options: FollowedRingOptions;
  readonly #place: KeysPlace;
  readonly #listeners: Listeners<[]>;
  readonly #stopping = new AbortController();
  readonly #stopFollowing: () => void;
  #known: { ring: Ring; resourceVersion: string } | undefined;
  #isAcknowledging = false;
  #isRefreshing = false;
  #missedAt = -Infinity;
  #reported = '';

  constructor(options: FollowedRingOptions) {
    const { systemNamespace, name, followed, logger } = options;
    this.#options = options;
    this.#place = {
      name: `The Secret ${systemNamespace}/${name} (${ENTRY})`,
      remedy: 'restore it from a backup',
    };
    this.#listeners = new Listeners((error) => logger.error({ err: error }, 'a handler for new encryption keys threw'));
    this.#stopFollowing = followed.onChange((object) => this.#see(object));
  }

  /**
   * Reads the keys and registers as a reader.
   * @throws StartError for keys that are invalid (E4) or of other data (FT12); DomainError where the Secret cannot be
   * read or is missing.
   */
  async start(): Promise<void> {
    await this.#refuseForeignKeys();
    await this.change((ring) => acknowledge(ring, this.#options.reader));
    await this.#options.followed.start();
  }

  async stop(): Promise<void> {
    const { followed, clock, reader } = this.#options;
    this.#stopping.abort();
    this.#stopFollowing();
    await followed.stop();
    if (this.#known === undefined) return;
    const left = this.change((ring) => withoutReaders(ring, [reader])).catch(() => undefined);
    const tooLong = new AbortController();
    await Promise.race([left, clock.sleep(LEAVE_MS, tooLong.signal).catch(() => undefined)]);
    tooLong.abort();
  }

  /** @throws DomainError `unavailable` before the first `start` has succeeded. */
  ring(): Ring {
    if (this.#known === undefined)
      throw new DomainError('unavailable', 'The encryption keys have not been read yet; try again in a moment.');
    return this.#known.ring;
  }

  async change(decide: (ring: Ring) => Ring): Promise<Ring> {
    const { secrets, name } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const found = await this.#read();
      const ring = this.#parse(found);
      // What it acknowledges or builds on, it also uses itself.
      this.#adopt(ring, found.resourceVersion);
      const next = decide(ring);
      if (next === ring) return ring;
      try {
        const data = { ...found.data, [ENTRY]: Buffer.from(serializeKeysJson(next)) };
        const written = await secrets.update(name, data, found.resourceVersion);
        this.#adopt(next, written.resourceVersion);
        return next;
      } catch (error) {
        if (!isDomainError(error, 'conflict') || attempt === ATTEMPTS) throw error;
      }
    }
  }

  onChange(callback: () => void): () => void {
    return this.#listeners.add(callback);
  }

  missed(): void {
    const now = this.#options.clock.monotonic();
    if (now - this.#missedAt < MISSED_MS) return;
    this.#missedAt = now;
    this.#refresh();
  }

  /** Before it registers no rotation waits for it: while values are tried, one may begin and end. */
  async #refuseForeignKeys(): Promise<void> {
    for (let before = await this.#read(); ;) {
      try {
        return await refuseForeignKeys(this.#options.store, keyRingOf(this.#parse(before)), this.#place);
      } catch (error) {
        const after = await this.#read();
        if (after.resourceVersion === before.resourceVersion) throw error;
        before = after;
      }
    }
  }

  async #read(): Promise<SystemObject> {
    const { secrets, name } = this.#options;
    const found = await secrets.get(name);
    if (found === undefined)
      throw new DomainError('unavailable', `${this.#place.name} is missing: ${this.#place.remedy}.`);
    return found;
  }

  /** @throws StartError for anything that must not follow what is known. */
  #parse({ data }: SystemObject): Ring {
    const ring = parseKeysJson(data[ENTRY]?.toString('utf8') ?? '', keysJsonSchema, this.#place);
    const lost = this.#known === undefined ? [] : lostVersions(this.#known.ring, ring);
    if (lost.length === 0) return ring;
    throw new StartError(
      `${this.#place.name} no longer has the key of version ${lost.join(', ')}, which values may need: ${this.#place.remedy}`,
    );
  }

  /** A state from the watch. One that is older than what is known may be an echo, or the store was restored. */
  #see(object: SystemObject | undefined): void {
    const { logger } = this.#options;
    if (object === undefined) return this.#report(`${this.#place.name} was deleted: ${this.#place.remedy}`);
    const known = this.#known?.resourceVersion;
    if (known === object.resourceVersion) return;
    if (known !== undefined && BigInt(object.resourceVersion) < BigInt(known)) return this.#refresh();
    try {
      this.#adopt(this.#parse(object), object.resourceVersion);
    } catch (error) {
      if (!isStartError(error)) logger.error({ err: error }, 'the encryption keys could not be read');
      else this.#report(error.message);
    }
  }

  #report(problem: string): void {
    if (problem !== this.#reported)
      this.#options.logger.error({ problem }, 'the new encryption keys cannot be used; the old ones stay active');
    this.#reported = problem;
  }

  #adopt(ring: Ring, resourceVersion: string): void {
    const before = this.#known;
    this.#known = { ring, resourceVersion };
    this.#reported = '';
    if (before?.resourceVersion === resourceVersion) return;
    if (before !== undefined && before.ring.current !== ring.current)
      this.#options.logger.info({ current: ring.current }, 'the new encryption keys are active');
    this.#listeners.notify();
    if (acknowledge(ring, this.#options.reader) !== ring) this.#acknowledge();
  }

  /** One at a time; whatever is new by then is acknowledged with it. */
  #acknowledge(): void {
    if (this.#stopping.signal.aborted || this.#isAcknowledging) return;
    this.#isAcknowledging = true;
    void this.#acknowledgeUntilDone().finally(() => {
      this.#isAcknowledging = false;
    });
  }

  async #acknowledgeUntilDone(): Promise<void> {
    const { reader, clock, logger } = this.#options;
    const { signal } = this.#stopping;
    const retries = new Backoff(RETRY);
    while (!signal.aborted && (retries.failures > 0 || acknowledge(this.ring(), reader) !== this.ring())) {
      try {
        await this.change((ring) => acknowledge(ring, reader));
        retries.reset();
      } catch (error) {
        const retryInMs = retries.failed();
        logger.warn({ err: error, retryInMs }, 'the encryption keys could not be acknowledged; trying again');
        await clock.sleep(retryInMs, signal).catch(() => undefined);
      }
    }
  }

  #refresh(): void {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    void this.change((ring) => ring)
      .catch((error: unknown) => {
        if (isStartError(error)) this.#report(error.message);
        else this.#options.logger.warn({ err: error }, 'the encryption keys could not be read again');
      })
      .finally(() => {
        this.#isRefreshing = false;
      });
  }
}
