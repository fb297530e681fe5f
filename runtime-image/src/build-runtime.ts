import type { Server } from 'node:http';
import { runtimeDownSchema, type RuntimeDown, type RuntimeUp } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { isArtifactOf, loadArtifact, type LoadResult } from './artifact/load-artifact.ts';
import { callListener } from './call/answer-call.ts';
import { RunningCalls } from './call/running-calls.ts';
import { giveHandlerEnvironment, type RuntimeConfig } from './config.ts';
import { FunctionState } from './call/function-state.ts';
import { createCallServer, listen } from './http/call-server.ts';
import { InvocationTokens } from './http/read-context.ts';
import { installWebGlobals } from './http/web-globals.ts';
import { CallLog } from './logs/call-log.ts';
import { captureOutput } from './logs/capture-output.ts';
import { LogBuffer } from './logs/log-buffer.ts';
import { SecretMask } from './logs/secret-mask.ts';
import { drain } from './process/drain.ts';
import { endOnCrash, type CrashHandling } from './process/end-on-crash.ts';
import { hardenProcess, sharesMachine } from './process/harden-process.ts';
import { giveOwnUser } from './process/own-user.ts';

/**
 * Bytes that may wait for a feed that does not read; beyond that, log entries wait in the buffer and may be dropped.
 */
const CONGESTED_BYTES = 1024 * 1024;

interface RuntimeParts {
  clock: Clock;
  config: RuntimeConfig;
  /** Calls come only when this has resolved. Default: at once. */
  watched?: Promise<void>;
  /**
   * Blocks, for a bounded time, until what was sent has reached the other side; present where the feed can do that
   * without the event loop.
   */
  drainFeedSync?: () => void;
  /**
   * Resolves, in bounded time, when what was sent has reached the other side; used in a crash where there is no
   * `drainFeedSync`.
   */
  closeFeed?: () => Promise<void>;
}

type Start = Extract<RuntimeDown, { type: 'start' }>;
/** Why the code cannot be loaded. */
export type LoadFailure = Extract<LoadResult, { ok: false }>;

/** One instance of a function: waits for its `start`, loads, serves, drains. */
interface Runtime {
  /**
   * Serves one connection of the feed until it ends; the last state stays active. The first `start` loads the code. A
   * later one, on another connection, brings what has changed meanwhile, and is answered with how the start had ended.
   */
  follow(channel: FeedChannel): Promise<void>;
  /** Resolves when the code cannot be loaded, after that was reported; rejects where the instance cannot listen. */
  readonly failed: Promise<LoadFailure>;
  /** Resolves when the code is loaded and calls could be taken. */
  readonly loaded: Promise<void>;
  /** Takes no more calls, and resolves when those that run have ended. */
  drain(): Promise<void>;
}

/** Composes an instance. It takes over the process: console, globals, environment and what happens on a crash. */
export function buildRuntime({ clock, config, watched, drainFeedSync, closeFeed }: RuntimeParts): Runtime {
  let channel: FeedChannel | undefined;
  const send = (message: RuntimeUp): void => channel?.send(message);
  const congested = (): boolean => channel === undefined || (channel.queuedBytes?.() ?? 0) > CONGESTED_BYTES;
  const { mask, log, flush } = collectLogs({ clock, send, congested });
  const running = new RunningCalls();
  const tokens = new InvocationTokens();
  const failed = Promise.withResolvers<LoadFailure>();
  const hasLoaded = Promise.withResolvers<void>();
  let first: { message: Start; state: FunctionState } | undefined;
  let server: Server | undefined;
  let announced: RuntimeUp | undefined;

  /** Not awaited, so that later messages on the feed, above all its end, are handled while the handler loads. */
  async function start(message: Start, state: FunctionState): Promise<void> {
    takeOverProcess(message, config, { log, flush, cutCalls: () => cutCalls(server), drainFeedSync, closeFeed });
    const result = await load(message, config, clock);
    if (!result.ok) {
      flush();
      send({ type: 'failed', reason: result.reason, message: result.message });
      return failed.resolve(result);
    }
    server = createCallServer(callListener({ handler: result.handler, tokens, state, log, clock, running }));
    const address = await listen(server, message.listen, config.pod !== undefined);
    hasLoaded.resolve();
    await watched;
    send((announced = { type: 'loaded', address }));
  }

  function onStart(message: Start): void {
    // A process serves one revision for life: an operator that sends another one is mistaken.
    if (first !== undefined && first.message.revision !== message.revision) return;
    tokens.accept(message.invocationToken);
    if (first === undefined) {
      first = { message, state: new FunctionState(message.state, log, mask) };
      start(message, first.state).catch(failed.reject);
      return;
    }
    first.state.apply(message.state);
    if (announced !== undefined) send(announced);
  }

  function onMessage(message: RuntimeDown): void {
    if (message.type === 'heartbeat') send({ type: 'alive' });
    else if (message.type === 'state') first?.state.apply(message.state);
    else onStart(message);
  }

  return {
    failed: failed.promise,
    loaded: hasLoaded.promise,
    async follow(connection) {
      channel = connection;
      for await (const raw of connection.messages()) {
        const message = runtimeDownSchema.safeParse(raw);
        // A message that it does not understand changes nothing: it keeps serving the last state.
        if (message.success) onMessage(message.data);
      }
      if (channel === connection) channel = undefined;
    },
    async drain() {
      if (server === undefined) running.draining = true;
      else await drain(server, running, { clock, lameDuckMs: config.lameDuckMs });
      flush();
    },
  };
}

/** Log entries: masked, buffered while the feed is not available or slow, and sent in batches. */
function collectLogs({
  clock,
  send,
  congested,
}: {
  clock: Clock;
  send: (message: RuntimeUp) => void;
  congested: () => boolean;
}) {
  const mask = new SecretMask();
  const buffer = new LogBuffer({ clock, congested, send: (batch) => send({ type: 'logs', ...batch }) });
  const log = new CallLog({
    clock,
    mask,
    add: (entry) => buffer.add(entry),
    batch: (batching) => (buffer.batching = batching),
  });
  return { mask, log, flush: (): void => buffer.end() };
}

/** As when the process ends. */
function cutCalls(server: Server | undefined): void {
  server?.close();
  server?.closeAllConnections();
}

/** Before a line of the handler runs. */
function takeOverProcess(message: Start, config: RuntimeConfig, handling: CrashHandling): void {
  giveHandlerEnvironment({
    timeZone: config.timeZone,
    functionId: message.state.function.id,
    revision: message.revision,
  });
  captureOutput(handling.log);
  endOnCrash(handling);
  hardenProcess();
  giveOwnUser();
  installWebGlobals();
}

async function load({ artifact, revision }: Start, config: RuntimeConfig, clock: Clock): Promise<LoadResult> {
  if (!isArtifactOf(artifact, revision)) {
    return { ok: false, reason: 'LoadError', message: 'The artifact is not the one that the revision names.' };
  }
  return loadArtifact(artifact, { clock, timeoutMs: config.loadTimeoutMs, allowSqlite: !sharesMachine() });
}
