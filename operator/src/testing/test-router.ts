import { channelPair } from '@wherry/testing/fakes/fake-feed-channel.ts';
import {
  routerMessageSchema,
  type LimitsDown,
  type RouterDown,
  type RouterFunction,
  type RouterKey,
} from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';

/** A router that only keeps what it is sent, and acknowledges it unless `silent` is set. */
export class TestRouter {
  /** The operator's end. */
  readonly channel: FeedChannel;
  readonly messages: RouterDown[] = [];
  readonly limits: LimitsDown[] = [];
  readonly functions = new Map<string, RouterFunction>();
  readonly keys = new Map<string, RouterKey>();
  /** Sequences of its batches of metrics that were acknowledged. */
  readonly stored: number[] = [];
  silent = false;
  readonly #own: FeedChannel;
  #version = 0;

  constructor() {
    [this.channel, this.#own] = channelPair();
    void this.#read();
  }

  send(message: object): void {
    this.#own.send(message);
  }

  close(): void {
    this.#own.close();
  }

  /** Acknowledges all that it was sent. */
  confirm(): void {
    this.send({ type: 'applied', version: this.#version });
  }

  changes(): Extract<RouterDown, { type: 'change' }>[] {
    return this.messages.filter((message) => message.type === 'change');
  }

  async #read(): Promise<void> {
    for await (const raw of this.#own.messages()) {
      const message = routerMessageSchema.parse(raw);
      if (message.type === 'stored') {
        this.stored.push(message.sequence);
        continue;
      }
      if (message.type === 'limits') {
        this.limits.push(message);
        continue;
      }
      this.messages.push(message);
      this.#apply(message);
    }
  }

  #apply(message: RouterDown): void {
    this.#version = message.version;
    if (message.type === 'heartbeat') return;
    if (message.type === 'snapshot') this.#forget([...this.functions.keys()], [...this.keys.keys()]);
    else this.#forget(message.removedFunctions, message.removedKeys);
    for (const fn of message.functions ?? []) this.functions.set(fn.id, fn);
    for (const key of message.keys ?? []) this.keys.set(key.digest, key);
    if (!this.silent) this.confirm();
  }

  #forget(ids: readonly string[] = [], digests: readonly string[] = []): void {
    for (const id of ids) this.functions.delete(id);
    for (const digest of digests) this.keys.delete(digest);
  }
}
