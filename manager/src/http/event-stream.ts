import type { ServerResponse } from 'node:http';
import { DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { z } from 'zod';
import { COMMON_HEADERS } from './reply.ts';
import { MANAGER_LIMITS } from '../limits.ts';

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';
/** A comment keeps proxies from closing a connection on which nothing else is sent. */
const KEEP_ALIVE_MS = 15_000;
/** A revoked caller's stream ends within this time. */
const CHECK_MS = 1000;
/** How long a client waits before it connects again, in milliseconds. */
const RECONNECT_MS = 1000;

/** One event of a stream. */
interface StreamedEvent {
  /** Sent back by a client that connects again, as `Last-Event-ID`. */
  id?: string;
  /** Its type; `message` for a client where there is none. */
  event?: string;
  /** Sent as JSON. */
  data: unknown;
}

interface EventStreamOptions {
  /** What the data of an event may be: a field that the contract does not name never leaves the service. */
  data: z.ZodType;
  /** Whether the caller still has access. */
  isAllowed: () => boolean;
  /** Of the endpoint: its streams have a bound of their own. */
  operation: string;
  /** How many of them may be open. */
  limit?: number | undefined;
  /** The id of the user who listens; undefined for a management key, which many programs may have. */
  user?: string | undefined;
}

/** Server-sent events to one listener. Its buffer is bounded, so that a slow listener costs nobody else anything. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly #options: EventStreamOptions;
  readonly #closed = Promise.withResolvers<undefined>();
  #drained: PromiseWithResolvers<undefined> | undefined;
  #laggingSince = 0;
  #sentAt: number;
  #isClosed = false;
  #cancelCheck: () => void = () => undefined;

  constructor(response: ServerResponse, clock: Pick<Clock, 'after' | 'monotonic'>, options: EventStreamOptions) {
    this.#response = response;
    this.#clock = clock;
    this.#options = options;
    this.#sentAt = clock.monotonic();
    response.once('close', () => this.#onClose());
    response.on('drain', () => this.#onDrain());
    response.writeHead(200, {
      ...COMMON_HEADERS,
      'Content-Type': EVENT_STREAM,
      // nginx would collect events before it passes them on.
      'X-Accel-Buffering': 'no',
    });
    this.#write(`retry: ${RECONNECT_MS}\n\n`);
    this.#checkLater();
  }

  get user(): string | undefined {
    return this.#options.user;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when the listener has left, or was disconnected. */
  get closed(): Promise<undefined> {
    return this.#closed.promise;
  }

  /** @returns whether the listener keeps up. Where it does not, wait for `ready` before you make more events. */
  send(event: StreamedEvent): boolean {
    if (this.#isClosed) return false;
    if (!this.#options.isAllowed()) {
      this.end();
      return false;
    }
    return this.sendFrame(eventFrame({ ...event, data: this.#options.data.parse(event.data) }));
  }

  /**
   * As `send`, of an event that many listeners share and that was made once, with `eventFrame`. Access is checked once a
   * second, not for each of them.
   */
  sendFrame(frame: Buffer): boolean {
    if (this.#isClosed) return false;
    this.#write(frame);
    // One event that is larger than the buffer still goes to a listener that keeps up.
    if (this.#response.writableLength > Math.max(MANAGER_LIMITS.streamBufferBytes, 2 * frame.length)) this.#cut();
    return this.#drained === undefined && !this.#isClosed;
  }

  /** Resolves once the listener has taken what was sent, or has left. */
  async ready(): Promise<void> {
    if (!this.#isClosed) await this.#drained?.promise;
  }

  /** Ends the stream; a client connects again. */
  end(): void {
    this.#response.end();
    this.#onClose();
  }

  /** The listener takes nothing: what waits for it is dropped. */
  #cut(): void {
    this.#response.destroy();
    this.#onClose();
  }

  #write(text: string | Buffer): void {
    this.#sentAt = this.#clock.monotonic();
    if (this.#response.write(text) || this.#drained !== undefined) return;
    this.#drained = Promise.withResolvers();
    this.#laggingSince = this.#clock.monotonic();
  }

  #checkLater(): void {
    this.#cancelCheck = this.#clock.after(CHECK_MS, () => {
      const now = this.#clock.monotonic();
      if (!this.#options.isAllowed()) this.end();
      else if (this.#drained !== undefined && now - this.#laggingSince >= MANAGER_LIMITS.streamStalledMs) this.#cut();
      else {
        if (this.#drained === undefined && now - this.#sentAt >= KEEP_ALIVE_MS) this.#write(':\n\n');
        this.#checkLater();
      }
    });
  }

  #onDrain(): void {
    this.#drained?.resolve(undefined);
    this.#drained = undefined;
  }

  #onClose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelCheck();
    this.#onDrain();
    this.#closed.resolve(undefined);
  }
}

/** All open streams: there is a bound of them, and those that are open end when the manager drains. */
export class EventStreams {
  readonly #clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly #open = new Map<string, Set<EventStream>>();
  #isDraining = false;

  constructor(clock: Pick<Clock, 'after' | 'monotonic'>) {
    this.#clock = clock;
  }

  /** @throws DomainError `throttled` where too many are open, `unavailable` where the manager stops. */
  open(response: ServerResponse, options: EventStreamOptions): EventStream {
    const { operation, limit = MANAGER_LIMITS.streams, user } = options;
    const open = this.#open.get(operation) ?? new Set();
    if (this.#isDraining) throw new DomainError('unavailable', 'The service is stopping; connect again in a moment.');
    if (open.size >= limit)
      throw new DomainError('throttled', `${limit} event streams are open already: close one, then try again.`);
    const ofUser = user === undefined ? 0 : [...open].filter((stream) => stream.user === user).length;
    if (ofUser >= MANAGER_LIMITS.streamsOfUser * limit)
      throw new DomainError('throttled', `You have ${ofUser} event streams open already: close one, then try again.`);
    const stream = new EventStream(response, this.#clock, options);
    this.#open.set(operation, open.add(stream));
    void stream.closed.then(() => open.delete(stream));
    return stream;
  }

  /** Streams end by themselves only when their listeners leave: this ends them, and refuses others. */
  drain(): void {
    this.#isDraining = true;
    for (const streams of this.#open.values()) for (const stream of streams) stream.end();
  }
}

/** The bytes of an event. Its data is sent as it is: check what it holds before. */
export function eventFrame({ id, event, data }: StreamedEvent): Buffer {
  const fields = [
    ...(event === undefined ? [] : [`event: ${line(event)}`]),
    ...(id === undefined ? [] : [`id: ${line(id)}`]),
    // JSON has no line breaks of its own.
    `data: ${JSON.stringify(data)}`,
  ];
  return Buffer.from(`${fields.join('\n')}\n\n`);
}

/** @throws Error for a text that would end its line. */
function line(text: string): string {
  if (/[\r\n\0]/.test(text)) throw new Error(`a field of an event cannot be ${JSON.stringify(text)}`);
  return text;
}
