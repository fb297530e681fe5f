import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CONTEXT_HEADER, TOKEN_HEADER, type InvocationContext } from '@wherry/core/feed/invocation.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { InvocationTokens } from '../http/read-context.ts';
import { CallLog } from '../logs/call-log.ts';
import { SecretMask } from '../logs/secret-mask.ts';
import { callListener } from './answer-call.ts';
import { FunctionState } from './function-state.ts';
import type { HandlerContext } from './handler-context.ts';
import { RunningCalls } from './running-calls.ts';

const TIMEOUT_MS = 100;
const FUNCTION = {
  id: 'hello',
  namespace: 'default',
  name: 'Hello',
  description: null,
  handler: 'my-api/hello.ts',
  route: '/*',
  methods: ['GET' as const],
  keyGroups: null,
  debug: false,
};

describe('the timeout', () => {
  let clock: FakeClock;
  let server: Server;
  let running: RunningCalls;
  beforeEach(() => {
    clock = new FakeClock();
    running = new RunningCalls();
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  async function serve(handler: (ctx: HandlerContext) => unknown): Promise<void> {
    const mask = new SecretMask();
    const log = new CallLog({ clock, mask, add: () => undefined, batch: () => undefined });
    const state = new FunctionState({ function: FUNCTION, settings: { logLevel: 'debug' }, secrets: [] }, log, mask);
    const tokens = new InvocationTokens();
    tokens.accept('token');
    const form = { form: 'function' as const, call: (_c: unknown, ctx: HandlerContext) => handler(ctx) };
    server = createServer(callListener({ handler: form, tokens, state, log, clock, running }));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  function call(): Promise<Response> {
    const context: InvocationContext = {
      requestId: 'r-5',
      requestedAt: clock.now(),
      timeoutMs: TIMEOUT_MS,
      params: {},
      scheme: 'http',
    };
    const header = Buffer.from(JSON.stringify(context)).toString('base64url');
    return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
      headers: { [TOKEN_HEADER]: 'token', [CONTEXT_HEADER]: header },
    });
  }
  const nameOf = (reason: unknown): string => (reason as Error).name;

  it('answers 504 where nothing was sent, and aborts the signal', async () => {
    const called = Promise.withResolvers<void>();
    const aborts: unknown[] = [];
    await serve(({ signal, remainingTimeMs }) => {
      signal.onabort = () => aborts.push([nameOf(signal.reason), remainingTimeMs()]);
      called.resolve();
      return new Promise(() => undefined);
    });
    const answer = call();
    await called.promise;
    await clock.advance(TIMEOUT_MS - 1);
    expect([aborts, running.count]).toEqual([[], 1]);
    await clock.advance(1);
    expect([aborts, running.count]).toEqual([[['TimeoutError', 0]], 0]);
    const { status, headers } = await answer;
    expect([status, headers.get('x-wherry-outcome')]).toEqual([504, 'timeout']);
    expect(await (await answer).json()).toMatchObject({ code: 'timeout', requestId: 'r-5' });
  });

  it('cuts a stream, cancels its source and aborts the signal', async () => {
    const cancelled = Promise.withResolvers<unknown>();
    await serve(
      ({ signal }) =>
        new Response(
          new ReadableStream<Uint8Array>({
            start: (stream) => stream.enqueue(new TextEncoder().encode('tick')),
            cancel: () => cancelled.resolve([signal.aborted, nameOf(signal.reason)]),
          }),
        ),
    );
    const reader = (await call()).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('tick');
    const cut = expect(reader?.read()).rejects.toThrow('terminated');
    await clock.advance(TIMEOUT_MS);
    await cut;
    expect(await cancelled.promise).toEqual([true, 'TimeoutError']);
  });
});
