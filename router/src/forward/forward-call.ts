import type { InvocationContext } from '@wherry/core/feed/invocation.ts';
import { answerRefusal, discardBody } from '../answer-refusal.ts';
import { withoutKeys } from '../auth/query-key.ts';
import type { BalancedInstance } from '../balance/balancer.ts';
import type { AdmittedCall } from '../call.ts';
import { requestHeaders } from './request-headers.ts';
import { responseHeaders } from './response-headers.ts';
import { Refusal } from '../refusal.ts';
import { pathParameters } from '../table/path-parameters.ts';
import type { CallOutcome, CallRecorder } from '../telemetry/call-recorder.ts';
import { CallerResponse } from './caller-response.ts';
import { noInstance, Placement, type PlacedCall, type PlacementParts } from './placement.ts';
import { RequestBody } from './request-body.ts';
import type { UpstreamCall, UpstreamExchange, UpstreamFailure, UpstreamReceiver } from '../upstream/upstream.ts';

export interface ForwardParts extends PlacementParts {
  recorder: CallRecorder;
}

/** Takes an admitted call to an instance of its function and the answer back; leaves the function's limit. */
export function forwardCall(call: AdmittedCall, parts: ForwardParts): void {
  new ForwardedCall(call, parts).start();
}

/**
 * One call under way. It finishes once: with the end of the answer, a failure, the timeout, or when the caller
 * disconnects. The timeout counts from arrival and covers the whole answer, also what a slow caller has not read yet.
 */
class ForwardedCall implements PlacedCall, UpstreamReceiver {
  readonly #call: AdmittedCall;
  readonly #parts: ForwardParts;
  readonly #response: CallerResponse;
  readonly #placement: Placement;
  #exchange: UpstreamExchange | undefined;
  #body: RequestBody | null = null;
  /** When an instance first had it. */
  #startedAt: number | undefined;
  #outcome: CallOutcome = 'ok';
  #finished = false;
  /** The instance had no slot for it: what it answers is not the call's answer. */
  #rejected = false;

  constructor(call: AdmittedCall, parts: ForwardParts) {
    this.#call = call;
    this.#parts = parts;
    this.#response = new CallerResponse(call, { release: call.leave, onAborted: () => this.#giveUp('aborted') });
    this.#placement = new Placement(call.fn, parts, this);
  }

  start(): void {
    this.#response.limitTime(this.#parts.clock, this.#remainingMs(), () => this.#timeOut());
    this.#placement.find();
    // While the call waits, its body is gathered as for an instance.
    if (!this.#finished) this.#body ??= this.#openBody();
  }

  onRefused(refusal: Refusal): void {
    this.#refuse(refusal, 'rejected');
  }

  head(status: number, headers: string[]): void {
    const { id, cors, fn, limitHeaders } = this.#call;
    const own = ['X-Request-Id', id, ...limitHeaders, ...cors];
    const replaced = { replacesCors: fn.spec.cors !== null, replacesLimits: limitHeaders.length > 0 };
    const answer = responseHeaders(headers, status, { own, ...replaced });
    if (answer.outcome === 'full') {
      this.#rejected = true;
      return;
    }
    this.#outcome = answer.outcome;
    try {
      this.#response.head(status, answer.headers);
    } catch {
      this.#refuse(new Refusal('bad_response'), 'error');
    }
  }

  data(chunk: Buffer): boolean {
    return this.#rejected || this.#response.data(chunk, () => this.#exchange?.resume());
  }

  end(): void {
    if (this.#rejected) {
      this.#findSlot();
      return;
    }
    this.#finish(this.#outcome);
    this.#response.end();
    // Nothing reads the rest of the body any more.
    this.#body?.destroy();
    discardBody(this.#call, this.#parts.clock);
  }

  fail(failure: UpstreamFailure): void {
    if (this.#finished) return;
    // Nothing was sent yet, so the call may go to another instance, once.
    if (failure === 'unsent' && this.#placement.attempts === 1) this.#placement.findOther();
    else this.#refuse(new Refusal(failure === 'bad_response' ? 'bad_response' : 'runtime_crashed'), 'error');
  }

  /** Calls of other routers have taken the slot. If nothing of the body was sent, another instance is tried, once. */
  #findSlot(): void {
    this.#rejected = false;
    const movesOn = this.#placement.attempts === 1 && this.#body === null && this.#placement.moveOn();
    if (!movesOn) this.#refuse(new Refusal('over_capacity', ['Retry-After', '1']), 'rejected');
  }

  onInstance(instance: BalancedInstance): void {
    if (this.#placement.attempts === 1) {
      this.#startedAt = this.#parts.recorder.started(this.#call);
      this.#body ??= this.#openBody();
      if (this.#body !== null && this.#call.expectsContinue) this.#call.res.writeContinue();
    }
    this.#exchange = instance.upstream.forward(this.#upstreamCall(instance), this);
  }

  #upstreamCall(instance: BalancedInstance): UpstreamCall {
    const { req, target, peer, keys } = this.#call;
    const query = withoutKeys(target.query, keys);
    return {
      method: req.method ?? 'GET',
      path: query === undefined ? target.path : `${target.path}?${query}`,
      headers: requestHeaders({
        rawHeaders: req.rawHeaders,
        peer,
        keys,
        token: instance.token,
        context: encodeContext(this.#call, this.#call.fn.activity.balancer.slotsOf(instance)),
      }),
      body: this.#body,
    };
  }

  #openBody(): RequestBody | null {
    const { body, req, fn } = this.#call;
    if (!body.present) return null;
    return new RequestBody(req, {
      maxBytes: fn.spec.maxRequestBytes,
      clock: this.#parts.clock,
      onFailure: (failure) =>
        this.#refuse(new Refusal(failure === 'too_large' ? 'too_large' : 'request_timeout'), 'aborted'),
    });
  }

  #timeOut(): void {
    // The instance is done with the call; a caller that still has not read the answer has used up its time.
    if (this.#finished) this.#response.cut();
    else if (this.#placement.instance === undefined) this.#refuse(noInstance(this.#call.fn), 'rejected');
    else this.#refuse(new Refusal('timeout'), 'timeout');
  }

  /** Ends the call with an error of the router: as an answer if none has begun, otherwise by cutting the connection. */
  #refuse(refusal: Refusal, outcome: CallOutcome): void {
    if (this.#finished) return;
    const begun = this.#response.begun;
    this.#giveUp(outcome, refusal);
    if (begun) this.#response.cut();
    else answerRefusal(this.#call, refusal, this.#parts.clock, [...this.#call.limitHeaders, ...this.#call.cors]);
  }

  #giveUp(outcome: CallOutcome, refusal?: Refusal): void {
    if (this.#finished) return;
    this.#finish(outcome, refusal);
    this.#exchange?.abort();
    this.#body?.destroy();
  }

  #finish(outcome: CallOutcome, refusal?: Refusal): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#placement.release();
    this.#call.fn.activity.limit.leave();
    this.#parts.recorder.finished(this.#call, this.#startedAt, outcome, refusal);
  }

  #remainingMs(): number {
    return Math.max(0, this.#call.fn.spec.timeoutMs - (this.#parts.clock.monotonic() - this.#call.arrivedAt));
  }
}

function encodeContext(call: AdmittedCall, slots: number | undefined): string {
  const { id, requestedAt, peer, fn, target, auth } = call;
  const context: InvocationContext = {
    requestId: id,
    requestedAt,
    timeoutMs: fn.spec.timeoutMs,
    params: pathParameters(fn.segments, target.segments),
    scheme: peer.scheme,
  };
  if (slots !== undefined) context.slots = slots;
  if (auth !== undefined) context.key = keyOf(auth.key);
  return Buffer.from(JSON.stringify(context)).toString('base64url');
}

function keyOf(key: NonNullable<AdmittedCall['auth']>['key']): NonNullable<InvocationContext['key']> {
  return { id: key.id, name: key.name, groupId: key.groupId, groupName: key.groupName };
}
