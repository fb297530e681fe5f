import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KeyLimit } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { requestIdOf } from '@wherry/service/request-id.ts';
import type { TrustedNetworks } from '@wherry/service/trusted-networks.ts';
import { answerRefusal, closeUnread, discardBody } from './answer-refusal.ts';
import type { Authenticator, AuthResult } from './auth/authenticate.ts';
import type { KeyIndex } from './auth/key-index.ts';
import { heldKeys, keyLikeWords } from './auth/held-keys.ts';
import type { AdmittedCall, Call, RoutedCall } from './call.ts';
import { corsHeaders, preflightHeaders, preflightMethod } from './cors/cors-rules.ts';
import { forwardCall, type ForwardParts } from './forward/forward-call.ts';
import { checkFraming, checkHeaderSize } from './http-framing/check-framing.ts';
import { readPeer } from './headers/peer.ts';
import { headerValue, headerValues } from './headers/raw-headers.ts';
import type { CallBudget } from './limit/call-budget.ts';
import { bodyInfo, checkSize } from './http-framing/check-size.ts';
import { Refusal } from './refusal.ts';
import type { KeyLimits, Verdict } from './limit/key-limits.ts';
import type { KeyUseReporter } from './key-use/key-use-reporter.ts';
import type { RoutedFunction } from './state/routed-function.ts';
import type { RouterState } from './state/router-state.ts';
import { functionFor, methodsOf } from './table/match-method.ts';
import type { RouteMatch } from './table/route-table.ts';
import { isRunPath, parseTarget, type Target } from './request-target/parse-target.ts';
import { ROUTER_LIMITS } from './limits.ts';

interface ChainParts extends ForwardParts {
  clock: Clock;
  logger: Logger;
  state: RouterState;
  authenticator: Authenticator;
  keyUses: KeyUseReporter;
  keyLimits: KeyLimits;
  trusts: TrustedNetworks;
  budget: CallBudget;
  /** Equal ports: handles every path but `/run`. */
  pipeToManager: ((call: Call) => void) | undefined;
}

export type Chain = (req: IncomingMessage, res: ServerResponse, expectsContinue: boolean) => void;

/**
 * The way of a call: parse and refuse bad targets → match route → method → CORS → key → size → concurrency limit →
 * instance. Refusals come in this order.
 */
export function createChain(parts: ChainParts): Chain {
  return (req, res, expectsContinue) => {
    const call = newCall(req, res, expectsContinue, parts);
    try {
      begin(call, parts);
    } catch (error) {
      parts.logger.error({ err: error, requestId: call.id }, 'a call failed in the router');
      answerRefusal(call, new Refusal('internal_error'), parts.clock);
    }
  };
}

function begin(call: Call, parts: ChainParts): void {
  const malformed = checkFraming(call.req.rawHeaders, call.req.httpVersion);
  if (malformed !== undefined) answerRefusal(call, malformed, parts.clock);
  else if (parts.pipeToManager !== undefined && isManagers(call.req.url ?? '')) parts.pipeToManager(call);
  else run(call, parts);
}

/** Any path outside the function port's; other forms of a target (`*`, `http://…`) are refused. */
function isManagers(target: string): boolean {
  return target.startsWith('/') && !isRunPath(target);
}

function run(call: Call, parts: ChainParts): void {
  const routed = route(call, parts);
  if (routed === undefined) return;
  if (routed instanceof Refusal) {
    answerRefusal(call, routed, parts.clock);
    return;
  }
  const admitted = admit(routed, parts);
  if ('refusal' in admitted) reject(routed, admitted, parts);
  else if (admitted.auth?.key.limits === undefined) forwardCall(admitted, parts);
  else limit(admitted, admitted.auth.key.limits, parts);
}

const INTERNAL_ERROR = new Refusal('internal_error');

/** Applies the limits of the call's key and of its group, which may have to be requested first. */
function limit(call: AdmittedCall, limits: readonly KeyLimit[], parts: ChainParts): void {
  const verdict = parts.keyLimits.admit(limits);
  if (verdict instanceof Promise)
    verdict.then(
      (later) => applyVerdict(call, later, parts),
      (error: unknown) => {
        parts.logger.error({ err: error, requestId: call.id }, 'the limits of a call could not be applied');
        applyVerdict(call, { refusal: INTERNAL_ERROR, headers: [] }, parts);
      },
    );
  else applyVerdict(call, verdict, parts);
}

function applyVerdict(call: AdmittedCall, { refusal, headers }: Verdict, parts: ChainParts): void {
  // A caller that left while it waited has no use for an answer.
  if (refusal === undefined && !call.res.destroyed) {
    forwardCall({ ...call, limitHeaders: headers }, parts);
    return;
  }
  call.fn.activity.limit.leave();
  call.leave();
  if (refusal !== undefined) reject(call, { refusal, reason: refusal.code, keys: call.keys }, parts);
}

/** A call that does not reach its function. */
interface Rejection {
  refusal: Refusal;
  /** In metrics and log entries. */
  reason: string;
  /** The keys that were found: they appear in no log entry. */
  keys: readonly string[];
}

function reject(call: RoutedCall, { refusal, reason, keys }: Rejection, parts: ChainParts): void {
  parts.recorder.rejected({ ...call, keys }, refusal, reason);
  answerRefusal(call, refusal, parts.clock, call.cors);
}

/** Finds the call's function. @returns undefined when the call was a preflight, and is answered. */
function route(call: Call, parts: ChainParts): RoutedCall | Refusal | undefined {
  const target = parseTarget(call.req.url ?? '');
  if (target instanceof Refusal) return target;
  const tooLarge = checkHeaderSize(call.req.rawHeaders);
  if (tooLarge !== undefined) return tooLarge;
  if (target === undefined) return new Refusal('function_not_found');
  if (!parts.state.ready) return new Refusal('not_ready', ['Retry-After', '1']);
  const match = parts.state.table.match(target.segments);
  if (match === undefined) return new Refusal('function_not_found');
  if (answerPreflight(call, match, parts.clock)) return undefined;
  return chooseFunction(call, target, match);
}

function chooseFunction(call: Call, target: Target, match: RouteMatch<RoutedFunction>): RoutedCall | Refusal {
  const fn = functionFor(match, call.req.method ?? '');
  if (fn === undefined) return new Refusal('method_not_allowed', ['Allow', methodsOf(match).join(', ')]);
  return { ...call, target, fn, cors: corsHeaders(fn.spec.cors, headerValue(call.req.rawHeaders, 'origin')) };
}

/**
 * A preflight needs no key and never reaches a function that has CORS rules: the rules for the requested method apply.
 */
function answerPreflight(call: Call, match: RouteMatch<RoutedFunction>, clock: Clock): boolean {
  const { rawHeaders, method } = call.req;
  if (method !== 'OPTIONS') return false;
  const origin = headerValue(rawHeaders, 'origin');
  const requestedMethod = preflightMethod(method, origin, headerValue(rawHeaders, 'access-control-request-method'));
  if (requestedMethod === undefined) return false;
  const fn = functionFor(match, requestedMethod) ?? functionFor(match, 'OPTIONS');
  if (fn === undefined || fn.spec.cors === null) return false;
  const route = { methods: methodsOf(match), guarded: fn.keyGroups !== null };
  // A body that was announced may never arrive.
  const ends = call.expectsContinue && !call.req.complete ? ['Connection', 'close'] : [];
  call.res.writeHead(204, ['X-Request-Id', call.id, ...preflightHeaders(fn.spec.cors, origin, route), ...ends]);
  call.res.end();
  closeUnread(call.res, clock);
  discardBody(call, clock);
  return true;
}

/** Key, size, limit. */
function admit(call: RoutedCall, parts: ChainParts): AdmittedCall | Rejection {
  const { fn, target, body } = call;
  const { rawHeaders } = call.req;
  const known = parts.state.keys;
  if (known === undefined) return rejection(new Refusal('not_ready', ['Retry-After', '1']), []);
  const auth = authenticate(call, known, parts);
  if (auth?.ok === false) return { refusal: auth.refusal, reason: auth.reason, keys: [] };
  const keys = auth === undefined ? [] : [auth.value];
  const tooLarge = checkSize(body, fn.spec.maxRequestBytes);
  if (tooLarge !== undefined) return rejection(tooLarge, keys);
  const words = keyLikeWords({ rawHeaders, ...target });
  if (words === undefined) return rejection(TOO_MANY_WORDS, keys);
  const leave = acquireSlots(call, parts.budget);
  if (leave instanceof Refusal) return rejection(leave, keys);
  // Last, because it costs most: done only for calls that reach a handler.
  return { ...call, auth, keys: heldKeys(words, auth?.value, known), limitHeaders: NO_HEADERS, leave };
}

/** @returns undefined for a function that anybody may call. */
function authenticate(call: RoutedCall, known: KeyIndex, parts: ChainParts): AuthResult | undefined {
  const { req, fn, target, peer, requestedAt } = call;
  if (fn.keyGroups === null) return undefined;
  const carrier = { rawHeaders: req.rawHeaders, query: target.query, client: peer.client };
  const auth = parts.authenticator.check(carrier, fn.keyGroups, known);
  if (auth.ok) parts.keyUses.note(auth.key.id, requestedAt);
  return auth;
}

const rejection = (refusal: Refusal, keys: readonly string[]): Rejection => ({ refusal, reason: refusal.code, keys });

const NO_HEADERS: readonly string[] = [];

const TOO_MANY_WORDS = new Refusal(
  'headers_too_large',
  [],
  `The request has more than ${ROUTER_LIMITS.keyLikeWords} words in its target and headers that could be API keys: those of 16 to 256 letters, digits, "-" and "_".`,
);

/**
 * In the function's limit, until an instance has answered, and in the router's, until the caller has read it all (R12).
 * @returns how to leave the latter.
 */
function acquireSlots({ fn, peer }: RoutedCall, budget: CallBudget): (() => void) | Refusal {
  const { limit } = fn.activity;
  if (!limit.hasCapacity(fn.spec.maxConcurrency)) return new Refusal('over_capacity', ['Retry-After', '1']);
  const release = budget.acquire(limit, peer.client);
  if (release === undefined) return new Refusal('overloaded', ['Retry-After', '1']);
  limit.enter();
  return release;
}

function newCall(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean, parts: ChainParts): Call {
  const { clock } = parts;
  const peer = readPeer(req.socket.remoteAddress, req.rawHeaders, parts.trusts);
  return {
    req,
    res,
    id: requestIdOf(peer.trusted ? headerValues(req.rawHeaders, 'x-request-id').join() : undefined),
    requestedAt: clock.now(),
    arrivedAt: clock.monotonic(),
    peer,
    body: bodyInfo(req.rawHeaders),
    expectsContinue,
  };
}
