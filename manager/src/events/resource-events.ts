import { createHash } from 'node:crypto';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { ALL_KINDS, type Kind, type Resource } from '@wherry/core/resources/kinds.ts';
import type { Informer } from '@wherry/service/informer.ts';
import { Listeners } from '@wherry/service/listeners.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { OwnedKeyLedger } from '../key-ledger/open-key-ledger.ts';
import { eventFrame, type EventStream } from '../http/event-stream.ts';
import { resourceEventSchema } from './event-schemas.ts';
import { KeyCounts } from './key-counts.ts';
import { objectViews } from './object-views.ts';
import { RecentEvents } from './recent-events.ts';
import { MANAGER_LIMITS } from '../limits.ts';

interface ResourceEventsOptions {
  informers: { [K in Kind]: Informer<K> };
  /** The base of the function port, without a trailing slash. */
  functionUrl: string;
  keyLedger: Pick<OwnedKeyLedger, 'lastUsedAt'>;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
  limits?: typeof MANAGER_LIMITS.missedEvents;
}

/**
 * Every change of an object, to whoever listens. A change is serialised once; a listener is a position in the newest
 * events, so that a slow one holds nothing but what its socket has taken, and slows nobody. One that falls behind them
 * is disconnected, and begins with `reset` when it connects again.
 */
export class ResourceEvents {
  readonly #informers: ResourceEventsOptions['informers'];
  readonly #counts: KeyCounts;
  readonly #views: ReturnType<typeof objectViews>;
  readonly #recent: RecentEvents;
  readonly #listeners: Listeners<[]>;
  /** What was sent of each object. */
  readonly #sent = new Map<string, string>();
  #stops: (() => void)[] = [];
  #waking: NodeJS.Immediate | undefined;

  /** @param options the informers are not started yet. */
  constructor({ informers, logger, limits = MANAGER_LIMITS.missedEvents, ...shown }: ResourceEventsOptions) {
    this.#informers = informers;
    this.#counts = new KeyCounts(informers.ApiKey);
    this.#views = objectViews({ ...shown, counts: this.#counts, groups: informers.KeyGroup });
    this.#recent = new RecentEvents(limits);
    this.#listeners = new Listeners((err) => logger.error({ err }, 'an event could not be sent'));
  }

  /** To be called once the informers know the objects: what they learn from then on is an event. */
  start(): void {
    this.#stops = ALL_KINDS.map((kind) => this.#followKind(kind));
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    clearImmediate(this.#waking);
  }

  /** Sends what comes after an id, or from now on, until the listener leaves. */
  async follow(stream: EventStream, lastEventId: string | undefined): Promise<void> {
    const known = lastEventId === undefined ? this.#recent.end : this.#recent.positionOf(lastEventId);
    let position = known ?? this.#recent.end;
    const id = this.#recent.idAt(position);
    stream.sendFrame(known === undefined ? eventFrame({ event: 'reset', id, data: {} }) : idFrame(id));
    let wake = Promise.withResolvers<void>();
    const stopListening = this.#listeners.add(() => wake.resolve());
    void stream.closed.then(() => wake.resolve());
    while (!stream.isClosed) {
      wake = Promise.withResolvers<void>();
      while (position < this.#recent.end && !stream.isClosed) {
        const frame = this.#recent.at(position);
        if (frame === undefined) stream.end();
        else if (!stream.sendFrame(frame)) await stream.ready();
        position += 1;
      }
      // Nothing is awaited between the last look and this one.
      if (!stream.isClosed) await wake.promise;
    }
    stopListening();
  }

  #followKind<K extends Kind>(kind: K): () => void {
    const informer: Informer<K> = this.#informers[kind];
    for (const resource of informer.list()) this.#change(kind, resource.metadata.name, resource);
    return informer.onChange((name, resource) => {
      this.#publish(kind, name, resource);
      if (kind === 'ApiKey') this.#publishGroups();
    });
  }

  #publish<K extends Kind>(kind: K, name: string, resource: Resource<K> | undefined): void {
    const event = this.#change(kind, name, resource);
    if (event === undefined) return;
    const data = resourceEventSchema.parse(event);
    this.#recent.add((id) => eventFrame({ event: 'resource', id, data }));
    // Changes that come at once wake everybody once.
    this.#waking ??= setImmediate(() => {
      this.#waking = undefined;
      this.#listeners.notify();
    });
  }

  /** A key that comes or goes changes the count of its group. */
  #publishGroups(): void {
    for (const id of this.#counts.takeChanged()) {
      const group = this.#informers.KeyGroup.get(id);
      if (group !== undefined) this.#publish('KeyGroup', id, group);
    }
  }

  /** @returns undefined where callers of the API see no difference. */
  #change<K extends Kind>(kind: K, name: string, resource: Resource<K> | undefined) {
    const key = `${kind}/${name}`;
    const before = this.#sent.get(key);
    // The API has no object that is being deleted.
    if (resource === undefined || resource.metadata.deletionTimestamp !== undefined) {
      this.#sent.delete(key);
      return before === undefined ? undefined : { type: 'deleted', kind, id: name, object: null };
    }
    const object = this.#views[kind](resource);
    const digest = createHash('sha256').update(JSON.stringify(object)).digest('base64');
    this.#sent.set(key, digest);
    if (before === digest) return undefined;
    return { type: before === undefined ? 'added' : 'modified', kind, id: name, object };
  }
}

/** Says where to resume, without an event. */
function idFrame(id: string): Buffer {
  return Buffer.from(`id: ${id}\n\n`);
}
