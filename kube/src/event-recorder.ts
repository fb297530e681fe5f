import { createHash, randomUUID } from 'node:crypto';
import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Events, ObjectEvent } from '@wherry/core/ports/events.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import type { KubeClient } from './client/kube-client.ts';

/** Events that wait to be sent; more are dropped. */
const QUEUE_LIMIT = 500;
/** Events that are remembered, so that the same one again is counted. */
const KNOWN_LIMIT = 2000;
const MESSAGE_LIMIT = 1024;

interface EventPace {
  /** Between any two requests. */
  requestMs: number;
  /** Between two of the same event: those in between are counted. */
  repeatMs: number;
}
const EVENT_PACE: EventPace = { requestMs: 100, repeatMs: 10_000 };

interface EventRecorderOptions {
  client: KubeClient;
  /** Of the objects, and so of their events. */
  namespace: string;
  /** The reporter, for people: `wherry-operator`. */
  component: string;
  clock: Clock;
  logger: Logger;
  pace?: EventPace;
}

/** An event that was recorded at least once. */
interface Known {
  object: Resource;
  event: ObjectEvent;
  /** Of its Event object; another one once that has expired. */
  name: string | undefined;
  count: number;
  first: number;
  last: number;
  /** Monotonic; undefined before it was sent. */
  sentAt: number | undefined;
  waits: boolean;
}

/**
 * Events for `kubectl describe`, sent in the background, in bounded number and at a bounded pace. A repeated event of
 * an object raises its count. One that cannot be sent is lost: nothing depends on events.
 */
export class EventRecorder implements Events {
  readonly #options: EventRecorderOptions;
  readonly #pace: EventPace;
  readonly #path: string;
  readonly #known = new Map<string, Known>();
  readonly #queue: Known[] = [];
  readonly #timers = new Set<() => void>();
  readonly #stopping = new AbortController();
  #dropping = false;
  #running: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#pace = options.pace ?? EVENT_PACE;
    this.#path = `/api/v1/namespaces/${options.namespace}/events`;
  }

  record(object: Resource<Kind>, event: ObjectEvent): void {
    if (this.#stopping.signal.aborted) return;
    const known = this.#remember(object, event);
    known.count += 1;
    known.last = this.#options.clock.now();
    if (known.waits) return;
    const wait = known.sentAt === undefined ? 0 : known.sentAt + this.#pace.repeatMs - this.#options.clock.monotonic();
    known.waits = true;
    if (wait <= 0) this.#enqueue(known);
    else this.#after(wait, () => this.#enqueue(known));
  }

  /** What has not been sent is lost. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const cancel of this.#timers) cancel();
    await this.#running;
  }

  #remember(object: Resource<Kind>, event: ObjectEvent): Known {
    const key = createHash('sha256')
      .update([object.metadata.uid, event.type, event.reason, event.message].join('\0'))
      .digest('hex');
    const known = this.#known.get(key) ?? newKnown(object, event, this.#options.clock.now());
    // The most recent one is last: the oldest is forgotten first.
    this.#known.delete(key);
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_LIMIT && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  #enqueue(known: Known): void {
    if (this.#queue.length >= QUEUE_LIMIT) {
      known.waits = false;
      if (!this.#dropping)
        this.#options.logger.warn(
          { queued: QUEUE_LIMIT },
          'events are recorded faster than they can be sent; some are dropped',
        );
      this.#dropping = true;
      return;
    }
    this.#queue.push(known);
    this.#running ??= this.#sendAll().finally(() => (this.#running = undefined));
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#stopping;
    for (let next = this.#queue.shift(); next !== undefined && !signal.aborted; next = this.#queue.shift()) {
      next.waits = false;
      next.sentAt = this.#options.clock.monotonic();
      try {
        await this.#send(next, signal);
      } catch (error) {
        if (!signal.aborted)
          this.#options.logger.warn({ err: error, reason: next.event.reason }, 'an event could not be sent');
      }
      await this.#options.clock.sleep(this.#pace.requestMs, signal).catch(() => undefined);
    }
    this.#dropping = false;
  }

  async #send(known: Known, signal: AbortSignal): Promise<void> {
    if (known.name !== undefined) {
      try {
        const body = { count: known.count, lastTimestamp: timestamp(known.last) };
        await this.#options.client.request({
          method: 'PATCH',
          path: `${this.#path}/${known.name}`,
          contentType: 'application/merge-patch+json',
          body,
          signal,
        });
        return;
      } catch (error) {
        // Events expire after an hour.
        if (!isDomainError(error, 'not_found')) throw error;
      }
    }
    const body = this.#eventObject(known);
    await this.#options.client.request({ method: 'POST', path: this.#path, body, signal });
    known.name = body.metadata.name;
  }

  #eventObject({ object, event, count, first, last }: Known) {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const { component } = this.#options;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.${randomUUID()}`, namespace },
      involvedObject: { apiVersion: object.apiVersion, kind: object.kind, namespace, name, uid, resourceVersion },
      type: event.type,
      reason: event.reason,
      message: event.message.slice(0, MESSAGE_LIMIT),
      count,
      firstTimestamp: timestamp(first),
      lastTimestamp: timestamp(last),
      source: { component },
      reportingComponent: component,
      reportingInstance: component,
    };
  }

  #after(ms: number, callback: () => void): void {
    const cancel = this.#options.clock.after(ms, () => {
      this.#timers.delete(cancel);
      callback();
    });
    this.#timers.add(cancel);
  }
}

/** Only the reference that an Event needs is kept of the object. */
function newKnown({ apiVersion, kind, metadata }: Resource<Kind>, event: ObjectEvent, now: number): Known {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const bare = { name, namespace, uid, resourceVersion, generation, creationTimestamp };
  const object = { apiVersion, kind, metadata: bare, spec: {}, status: {} } as Resource;
  return {
    object,
    event: { ...event },
    name: undefined,
    count: 0,
    first: now,
    last: now,
    sentAt: undefined,
    waits: false,
  };
}

function timestamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
