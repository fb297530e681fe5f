import type { Server } from 'node:http';
import { runtimeDownSchema, type RuntimeDown, type RuntimeUp } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { loadArtifact, type LoadResult } from './artifact/load-artifact.ts';
import { isArtifactOf } from './artifact/verify-artifact.ts';
import { callListener } from './call/answer-call.ts';
import { RunningCalls } from './call/running-calls.ts';
import { giveHandlerEnvironment, type RuntimeConfig } from './config.ts';
import { FunctionState } from './function-state.ts';
import { createCallServer, listen } from './http/call-server.ts';
import { installWebGlobals } from './http/web-globals.ts';
import { CallLog } from './logs/call-log.ts';
import { captureOutput } from './logs/capture-output.ts';
import { LogBuffer } from './logs/log-buffer.ts';
import { SecretMask } from './logs/secret-mask.ts';
import { drain } from './process/drain.ts';
import { endOnCrash } from './process/end-on-crash.ts';
import { hardenProcess, sharesMachine } from './process/harden-process.ts';
import { giveOwnUser } from './process/own-user.ts';

export interface RuntimeParts {
  channel: FeedChannel;
  clock: Clock;
  config: RuntimeConfig;
  /** Whether the feed's other side lags behind. */
  congested: () => boolean;
}

type Start = Extract<RuntimeDown, { type: 'start' }>;

/** One instance of a function: waits for its `start`, loads, serves, drains. */
export interface Runtime {
  /** Serves the feed. Resolves when its other side is gone (the service is dead), or the handler does not load. */
  run(): Promise<'feed-ended' | 'failed'>;
  /** Takes no more calls, and resolves when those that run have ended. */
  drain(): Promise<void>;
}

/** Composes an instance. It takes over the process: console, globals, environment and what happens on a crash. */
export function buildRuntime({ channel, clock, config, congested }: RuntimeParts): Runtime {
  const send = (message: RuntimeUp): void => channel.send(message);
  const mask = new SecretMask();
  const buffer = new LogBuffer({ clock, congested, send: (entries, dropped) => send({ type: 'logs', entries, dropped }) });
  const log = new CallLog({ clock, mask, add: (entry) => buffer.add(entry) });
  const flush = (): void => buffer.flush();
  const running = new RunningCalls();
  let state: FunctionState | undefined;
  let server: Server | undefined;

  async function start(message: Start): Promise<boolean> {
    state = new FunctionState(message.state, log, mask);
    takeOverProcess({ message, config, log, flush });
    const loaded = await load(message, config, clock);
    if (loaded.ok) {
      const { invocationToken } = message;
      server = createCallServer(callListener({ handler: loaded.handler, invocationToken, state, log, clock, running }));
      send({ type: 'loaded', address: await listen(server, message.listen) });
    } else {
      flush();
      send({ type: 'failed', reason: loaded.reason, message: loaded.message });
    }
    return loaded.ok;
  }

  /** @param onStart is not waited for: what follows on the feed, its end above all, is heard while the handler loads. */
  async function follow(onStart: (message: Start) => void): Promise<'feed-ended'> {
    for await (const raw of channel.messages()) {
      const message = runtimeDownSchema.safeParse(raw);
      // What it does not understand changes nothing: it keeps serving what it last learned.
      if (!message.success) continue;
      if (message.data.type === 'heartbeat') send({ type: 'alive' });
      else if (message.data.type === 'state') state?.apply(message.data.state);
      else if (state === undefined) onStart(message.data);
    }
    return 'feed-ended';
  }

  return {
    run: () =>
      new Promise((resolve, reject) => {
        const onStart = (message: Start): void => {
          start(message).then((ok) => !ok && resolve('failed'), reject);
        };
        follow(onStart).then(resolve, reject);
      }),
    async drain() {
      if (server !== undefined) await drain(server, running, clock);
      flush();
    },
  };
}

interface TakeOver {
  message: Start;
  config: RuntimeConfig;
  log: CallLog;
  flush: () => void;
}

/** Before a line of the handler runs. */
function takeOverProcess({ message, config, log, flush }: TakeOver): void {
  giveHandlerEnvironment({ timeZone: config.timeZone, functionId: message.state.function.id, revision: message.revision });
  captureOutput(log);
  endOnCrash(log, flush);
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
