import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { InvocationContext } from '@wherry/core/feed/invocation.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { sendError, type RuntimeErrorCode } from '../http/error-body.ts';
import { LazyRequest } from '../http/lazy-request.ts';
import { readContext, type InvocationTokens } from '../http/read-context.ts';
import { RequestUrls } from '../http/request-url.ts';
import { writeResponse } from '../http/write-response.ts';
import type { CallLog } from '../logs/call-log.ts';
import type { FunctionState } from './function-state.ts';
import { Call, currentCall } from './call.ts';
import { Deadlines } from './deadlines.ts';
import { HandlerContext } from './handler-context.ts';
import type { Handler } from './handler.ts';
import { invoke } from './invoke.ts';
import type { RunningCalls } from './running-calls.ts';

interface AnswerOptions {
  handler: Handler;
  tokens: InvocationTokens;
  state: FunctionState;
  log: CallLog;
  clock: Clock;
  running: RunningCalls;
}

type Started = AnswerOptions & { deadlines: Deadlines };

/** The way of a call: token → context → handler → answer. */
export function callListener(options: AnswerOptions): RequestListener {
  const { tokens } = options;
  const urls = new RequestUrls();
  const started = { ...options, deadlines: new Deadlines(options.clock) };
  return (incoming, outgoing) => {
    if (options.running.draining) outgoing.shouldKeepAlive = false;
    if (!tokens.isShownBy(incoming)) return refuse(outgoing, 'unauthorized', 'Only the router may call this address.');
    const context = readContext(incoming);
    if (context === undefined) return refuse(outgoing, 'bad_context', 'The call has no valid context.');
    if (isFull(options.running, context)) return turnAway(outgoing, context);
    const call = startCall(started, context, outgoing);
    const target = incoming.url ?? '/';
    const request = new LazyRequest({
      incoming,
      method: methodOf(incoming, options.state),
      url: urls.absolute(context.scheme, incoming.headers.host, target),
      signal: () => call.signal,
    });
    const { secrets: store, route } = options.state;
    const secrets = store.view(context.key);
    const ctx = new HandlerContext({ call, route, secrets, search: searchOf(target) });
    currentCall.run(call, () =>
      answer(options, { call, outgoing }, () => invoke(options.handler, request, ctx, secrets)),
    );
  };
}

interface Exchange {
  call: Call;
  outgoing: ServerResponse;
}

/** HEAD is answered through GET where only GET is listed. Node leaves the body out. */
function methodOf(incoming: IncomingMessage, state: FunctionState): string {
  return incoming.method === 'HEAD' && state.headThroughGet ? 'GET' : (incoming.method ?? 'GET');
}

function searchOf(target: string): string {
  const mark = target.indexOf('?');
  return mark === -1 ? '' : target.slice(mark + 1);
}

function refuse(outgoing: ServerResponse, code: RuntimeErrorCode, message: string): void {
  sendError(outgoing, { code, message, requestId: '' });
}

/** Whether all slots are in use, mostly by calls from other routers. */
function isFull(running: RunningCalls, { slots }: InvocationContext): boolean {
  return slots !== undefined && running.answering >= slots;
}

function turnAway(outgoing: ServerResponse, { requestId }: InvocationContext): void {
  sendError(outgoing, {
    code: 'over_capacity',
    message: 'The function is at its limit of concurrent calls.',
    requestId,
    outcome: 'full',
  });
}

/** A slot is free when its answer is on its way: the next call may come before the connection reports its end. */
function takePlace(running: RunningCalls, outgoing: ServerResponse): void {
  let isTaken = true;
  const free = (): void => {
    if (isTaken) running.answering -= 1;
    isTaken = false;
  };
  running.answering += 1;
  outgoing.once('prefinish', free);
  outgoing.once('close', free);
}

/** Starts the call's timeout, and watches for the caller's disconnect. */
function startCall(
  { log, clock, running, deadlines }: Started,
  context: InvocationContext,
  outgoing: ServerResponse,
): Call {
  running.began();
  if (context.slots !== undefined) takePlace(running, outgoing);
  const call = new Call({
    context,
    clock,
    onWaitFailure: (error, of) => log.write('error', [error], of),
    onEnd: () => running.ended(),
  });
  deadlines.watch(call, () => timeOut({ call, outgoing }));
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) call.abort(new DOMException('The caller disconnected.', 'AbortError'));
    call.answered();
  });
  return call;
}

/** After the timeout nothing of the call counts any more: neither its answer, nor its stream, nor `waitUntil`. */
function timeOut({ call, outgoing }: Exchange): void {
  const seconds = call.context.timeoutMs / 1000;
  const message = `The function did not finish within its timeout of ${seconds} s.`;
  call.abort(new DOMException(message, 'TimeoutError'));
  if (!outgoing.headersSent && !outgoing.destroyed) {
    const { requestId } = call.context;
    sendError(outgoing, { code: 'timeout', message, requestId, outcome: 'timeout' });
  } else if (!outgoing.writableFinished) outgoing.destroy();
  call.end();
}

function answer(options: AnswerOptions, exchange: Exchange, run: () => unknown): void {
  let result: unknown;
  try {
    result = run();
  } catch (error) {
    return fail(options, exchange, error);
  }
  if (!isThenable(result)) return respond(options, exchange, result);
  result.then(
    (value) => respond(options, exchange, value),
    (error: unknown) => fail(options, exchange, error),
  );
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

function respond(options: AnswerOptions, exchange: Exchange, value: unknown): void {
  const { outgoing } = exchange;
  // The call timed out, or the caller disconnected, first.
  if (outgoing.headersSent || outgoing.destroyed) return;
  try {
    writeResponse(outgoing, value)?.catch((error: unknown) => fail(options, exchange, error));
  } catch (error) {
    fail(options, exchange, error);
  }
}

/** The handler failed: it is logged, and answered to the caller where that is still possible. */
function fail({ log, state }: AnswerOptions, { call, outgoing }: Exchange, error: unknown): void {
  // What fails because the call was cut is not a failure of the handler.
  if (call.aborted) return;
  log.write('error', [error], call);
  if (outgoing.headersSent || outgoing.destroyed) {
    outgoing.destroy();
    return;
  }
  const message = state.debug ? `The function failed: ${messageOf(error)}` : 'The function failed.';
  const { requestId } = call.context;
  sendError(outgoing, { code: 'handler_error', message, requestId, outcome: 'error' });
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error);
