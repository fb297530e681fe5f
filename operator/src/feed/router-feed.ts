import { randomUUID, type KeyObject } from 'node:crypto';
import { isDomainError } from '@wherry/core/errors.ts';
import {
  HEARTBEAT_SECONDS,
  routerUpSchema,
  type LimitsDown,
  type RouterDown,
  type RouterStored,
  type RouterUp,
} from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { KeyLedger, LimitReport } from '@wherry/core/ports/key-ledger.ts';
import type { MetricsSink } from '@wherry/core/ports/telemetry.ts';
import type { StoreRestores } from '@wherry/core/ports/store-restores.ts';
import { Listeners } from '@wherry/service/listeners.ts';
import type { DemandBoard } from './demand-board.ts';
import type { LogIntake } from './log-intake.ts';
import { RouterView, type RouterViewOptions } from './router-view.ts';
import { ROUTER_PATIENCE_MS, UnacknowledgedChanges } from './unacknowledged-changes.ts';

/** Changes that come within this time are sent as one. */
const COALESCE_MS = 1;

type MetricsMessage = Extract<RouterUp, { type: 'metrics' }>;

interface RouterFeedOptions extends RouterViewOptions {
  digestKey: KeyObject;
  demand: DemandBoard;
  logs: LogIntake;
  keyLedger: KeyLedger;
  executions: MetricsSink;
  /**
   * Milliseconds after the start in which routers that still use the state of an earlier operator may reconnect. Until
   * then it is unknown what they know. Default 0: there are none.
   */
  routersReturnMs?: number;
  /** Absent for a store that is never restored while routers run. */
  restores?: StoreRestores;
  clock: Clock;
}

/** How the start of a router ended; `closed` when the connection ended first. Routers of a cluster report nothing. */
export type RouterOutcome =
  { type: 'listening'; port: number } | { type: 'failed'; message: string } | { type: 'closed' };

/** What a router knows before it is sent anything. */
export interface KnownState {
  /** Version of the newest state: an older one would undo what it was sent. */
  resourceVersion?: string;
  /** How often the store had been restored by then. */
  restores?: number | undefined;
}

interface Connection {
  channel: FeedChannel;
  resolve: (outcome: RouterOutcome) => void;
  known: { resourceVersion: string; restores: number };
  /** The newest version that the router has acknowledged. */
  applied: number;
  /** Monotonic milliseconds. */
  attachedAt: number;
  /** It has its snapshot, and receives each change from then on. */
  synced: boolean;
}

/** Sends every router its state: a snapshot, then each change in one step, then heartbeats. */
export class RouterFeed {
  readonly #options: RouterFeedOptions;
  readonly #view: RouterView;
  readonly #connections = new Set<Connection>();
  readonly #unacknowledged = new UnacknowledgedChanges();
  readonly #epoch = randomUUID();
  readonly #knownListeners: Listeners<[functionNames: string[]]>;
  #version = 1;
  /**
   * How often the store was restored before the state that the caches hold; undefined while that is not known: nothing
   * is sent then.
   */
  #restores: number | undefined;
  #hasCounted = false;
  readonly #stopCounting: () => void;
  #started = false;
  /** Monotonic milliseconds. */
  #startedAt = 0;
  #cancelFlush: (() => void) | undefined;
  #cancelBeat: () => void = () => undefined;

  constructor(options: RouterFeedOptions) {
    this.#options = options;
    this.#view = new RouterView(options, () => this.#flushSoon());
    this.#knownListeners = new Listeners((error, [functions]) =>
      options.logger.error({ err: error, functions }, 'a listener for what routers know threw'),
    );
    const { restores } = options;
    this.#restores = restores === undefined ? 0 : restores.current();
    this.#hasCounted = this.#restores !== undefined;
    if (restores !== undefined) options.caches.onWentBack(() => this.#hold(restores));
    this.#stopCounting = restores?.onChange((count) => void this.#followRestore(count)) ?? (() => undefined);
  }

  /** The caches are filled: snapshots may be taken. */
  start(): void {
    this.#started = true;
    this.#startedAt = this.#options.clock.monotonic();
    // No router has any state yet that could change.
    this.#view.refresh();
    for (const connection of this.#connections) void this.#sendSnapshot(connection);
    this.#beatLater();
  }

  stop(): void {
    this.#started = false;
    this.#view.stop();
    this.#stopCounting();
    this.#cancelFlush?.();
    this.#cancelBeat();
    for (const { channel } of this.#connections) channel.close();
  }

  /**
   * Serves one router until its connection ends. Before `start` it waits. The outcome resolves once and never rejects.
   */
  attach(
    channel: FeedChannel,
    { resourceVersion = '0', restores = 0 }: KnownState = {},
  ): { outcome: Promise<RouterOutcome> } {
    const { promise, resolve } = Promise.withResolvers<RouterOutcome>();
    const connection: Connection = {
      channel,
      resolve,
      known: { resourceVersion, restores },
      applied: 0,
      attachedAt: this.#options.clock.monotonic(),
      synced: false,
    };
    this.#connections.add(connection);
    if (this.#started) void this.#sendSnapshot(connection);
    void this.#serve(connection);
    return { outcome: promise };
  }

  /** Whether every router has applied the current state of the function. */
  know(functionName: string): boolean {
    return (
      this.#started &&
      !this.#view.isTouched(functionName) &&
      !this.#unacknowledged.has(functionName) &&
      this.#allKnowSomething()
    );
  }

  /** @param callback receives the functions for which `know` has become true. @returns how to stop. */
  onKnown(callback: (functionNames: string[]) => void): () => void {
    return this.#knownListeners.add(callback);
  }

  /** Which ApiKey has the value of this one, as routers know it; undefined where they accept none with it. */
  keyHolder(name: string): string | undefined {
    return this.#view.keyHolder(name);
  }

  /** @param callback receives the keys whose `keyHolder` has changed by a change of another key. @returns how to stop. */
  onKeyHolder(callback: (names: string[]) => void): () => void {
    return this.#view.onKeyHolder(callback);
  }

  /** A router that has just connected may still use the state of another operator. */
  #allKnowSomething(): boolean {
    const now = this.#options.clock.monotonic();
    if (now - this.#startedAt < (this.#options.routersReturnMs ?? 0)) return false;
    return [...this.#connections].every(
      ({ applied, attachedAt }) => applied > 0 || now - attachedAt >= ROUTER_PATIENCE_MS,
    );
  }

  #flushSoon(): void {
    if (this.#started) this.#cancelFlush ??= this.#options.clock.after(COALESCE_MS, () => this.#flush());
  }

  /** Computes what was touched, and sends it to all routers in one message. */
  #flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    const { difference, looked } = this.#view.refresh();
    if (difference !== undefined) {
      this.#version += 1;
      const changed = [...(difference.functions ?? []).map(({ id }) => id), ...(difference.removedFunctions ?? [])];
      this.#unacknowledged.add(changed, this.#version, this.#options.clock.monotonic());
      this.#broadcast({ type: 'change', ...this.#stamp(), ...difference });
    }
    this.#acknowledge(looked);
  }

  #beatLater(): void {
    this.#cancelBeat = this.#options.clock.after(HEARTBEAT_SECONDS * 1000, () => {
      // The version of a heartbeat is that of all that the caches hold.
      if (this.#cancelFlush !== undefined) this.#flush();
      this.#broadcast({ type: 'heartbeat', ...this.#stamp() });
      this.#acknowledge([]);
      this.#beatLater();
    });
  }

  #stamp(): { version: number; resourceVersion: string } {
    return { version: this.#version, resourceVersion: this.#options.caches.resourceVersion() };
  }

  #broadcast(message: RouterDown): void {
    for (const { channel, synced } of this.#connections) if (synced) channel.send(message);
  }

  /**
   * A router that receives nothing soon tries another operator, so nothing is sent while the caches are behind its
   * state.
   */
  async #sendSnapshot(connection: Connection): Promise<void> {
    const restores = await this.#reach(connection.known);
    const { channel } = connection;
    if (restores === undefined || !this.#started || connection.synced || !this.#connections.has(connection)) return;
    this.#flush();
    connection.synced = true;
    const { functions, keys, settings } = this.#view.state;
    const digestKey = this.#options.digestKey.export().toString('base64url');
    const known = {
      digestKey,
      settings,
      functions: [...functions.values()],
      keys: [...keys.values()],
      ...(restores > 0 && { restores }),
    };
    channel.send({ type: 'snapshot', epoch: this.#epoch, ...this.#stamp(), ...known } satisfies RouterDown);
  }

  /**
   * @returns the restore count of the caches' state, once that state includes all that the router knows; undefined
   *   until then.
   */
  async #reach({ resourceVersion, restores }: Connection['known']): Promise<number | undefined> {
    const { caches, restores: counted } = this.#options;
    const count = this.#restores;
    if (count === undefined || restores > count) {
      counted?.claim(restores);
      return undefined;
    }
    if (restores < count || resourceVersion === '0') return count;
    await caches.reach(resourceVersion);
    if (count !== this.#restores) return undefined;
    if (counted === undefined || BigInt(caches.resourceVersion()) >= BigInt(resourceVersion)) return count;
    // The caches hold the newest state, so the router's later state is from before a restore of the store.
    counted.wentBack(count);
    return undefined;
  }

  /**
   * The caches are about to hold a restored state. Routers do not receive it until the restore is counted: under the
   * old count, a router that moved on to a lagging operator would go back to the lost state.
   */
  #hold(restores: StoreRestores): void {
    if (this.#restores === undefined) return;
    restores.wentBack(this.#restores);
    this.#restores = undefined;
    for (const connection of this.#connections) connection.synced = false;
  }

  /** From now on everything that is sent comes from the restored store; until then routers keep their earlier state. */
  async #followRestore(count: number): Promise<void> {
    if (this.#hasCounted) {
      this.#options.logger.warn(
        { restores: count },
        'the store was restored to an older state: everything is listed again, and routers accept it',
      );
      await this.#options.caches.relist();
      if (this.#options.restores?.current() !== count) return;
    }
    this.#hasCounted = true;
    this.#restores = count;
    for (const connection of this.#connections) {
      connection.synced = false;
      if (this.#started) void this.#sendSnapshot(connection);
    }
  }

  /** Reports which of the functions with unacknowledged changes are now fully known to all routers. */
  #acknowledge(looked: string[]): void {
    const applied = Math.min(...[...this.#connections].map((connection) => connection.applied));
    const acknowledged = this.#unacknowledged.acknowledge(applied, this.#options.clock.monotonic());
    const known = [...new Set([...looked, ...acknowledged])].filter((name) => this.know(name));
    if (known.length > 0) this.#knownListeners.notify(known);
  }

  async #serve(connection: Connection): Promise<void> {
    const { logger, demand } = this.#options;
    try {
      for await (const message of connection.channel.messages()) this.#receive(connection, message);
    } catch (error) {
      logger.warn({ err: error }, "a router's feed connection failed");
    }
    connection.channel.close();
    connection.resolve({ type: 'closed' });
    this.#connections.delete(connection);
    demand.forget(connection);
    this.#acknowledge([]);
  }

  #receive(connection: Connection, message: unknown): void {
    const parsed = routerUpSchema.safeParse(message);
    if (parsed.success) this.#handle(connection, parsed.data);
    else this.#options.logger.warn({ problem: parsed.error.message.slice(0, 500) }, 'a router sent an invalid message');
  }

  #handle(connection: Connection, message: RouterUp): void {
    switch (message.type) {
      case 'listening':
      case 'failed':
        connection.resolve(message);
        return;
      case 'applied':
        connection.applied = message.version;
        this.#acknowledge([]);
        return;
      case 'demand':
        this.#options.demand.report(connection, message.functions);
        return;
      case 'logs':
        this.#options.logs.fromRouter(message);
        return;
      case 'key-uses':
        this.#options.keyLedger.used(message.uses);
        return;
      case 'metrics':
        void this.#store(connection.channel, message);
        return;
      case 'limits':
        void this.#exchangeLimits(connection, message.report);
    }
  }

  /** Without an answer the router goes on with its share; it reports again within a second. */
  async #exchangeLimits({ channel }: Connection, report: LimitReport): Promise<void> {
    try {
      channel.send({ type: 'limits', ...(await this.#options.keyLedger.exchange(report)) } satisfies LimitsDown);
    } catch (error) {
      this.#options.logger.debug(
        { err: error },
        'the limits of keys cannot be divided: routers continue with their shares',
      );
    }
  }

  /** The router sends the batch again until it hears that it is stored: nothing waits here. */
  async #store(channel: FeedChannel, { sender, sequence, metrics }: MetricsMessage): Promise<void> {
    try {
      await this.#options.executions.record({ sender, sequence, metrics });
    } catch (error) {
      const isLost = isDomainError(error, 'validation_failed') || isDomainError(error, 'too_large');
      const outcome = isLost ? 'are refused and lost' : 'cannot be stored; the router sends them again';
      this.#options.logger.warn({ err: error }, `metrics of executions ${outcome}`);
      if (!isLost) return;
    }
    channel.send({ type: 'stored', sequence } satisfies RouterStored);
  }
}
