import { PEER_HEADER } from '@wherry/core/feed/invocation.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { answerRefusal, closeUnread, discardBody } from '../answer-refusal.ts';
import type { Call } from '../call.ts';
import type { CallBudget } from '../limit/call-budget.ts';
import { CallerResponse } from '../forward/caller-response.ts';
import { RequestBody } from '../forward/request-body.ts';
import type { Upstream, UpstreamExchange, UpstreamReceiver } from '../upstream/upstream.ts';
import { hopByHop } from '../forward/hop-by-hop.ts';
import { eachHeader } from '../headers/raw-headers.ts';
import { Refusal } from '../refusal.ts';

/** How long a caller may take to read the rest of an answer: some 2 MiB, most of it in the kernel's buffers. */
const UNREAD_MS = 60_000;

/**
 * Equal ports: hands a request to the manager as it came, both bodies streaming, without the rules of `/run`. It adds
 * one header, the peer's address, which the manager trusts only on this socket; a caller's own is dropped.
 */
export function managerPipe(manager: Upstream, budget: CallBudget, clock: Clock): (call: Call) => void {
  const owner = {};
  return (call) => {
    const release = budget.acquire(owner, call.peer.client);
    if (release === undefined) {
      answerRefusal(call, new Refusal('overloaded', ['Retry-After', '1']), clock);
      return;
    }
    let isOver = false;
    const abort = (): void => {
      if (isOver) return;
      isOver = true;
      exchange.abort();
      body?.destroy();
    };
    const response = new CallerResponse(call, { release, onAborted: abort });
    const body = openBody(call, clock);
    const fail = (refusal: Refusal): void => {
      if (isOver) return;
      isOver = true;
      if (response.begun) response.cut();
      else answerRefusal(call, refusal, clock);
    };
    const receiver: UpstreamReceiver = {
      head: (status, headers) => response.head(status, responseHeaders(headers)),
      data: (chunk) => response.data(chunk, () => exchange.resume()),
      end: () => {
        isOver = true;
        response.end();
        closeUnread(call.res, clock, UNREAD_MS);
        body?.destroy();
        discardBody(call, clock);
      },
      fail: () => fail(new Refusal('manager_unavailable')),
    };
    const path = call.req.url ?? '/';
    const exchange: UpstreamExchange = manager.forward(
      { method: call.req.method ?? 'GET', path, headers: requestHeaders(call), body },
      receiver,
    );
  };
}

function openBody(call: Call, clock: Clock): RequestBody | null {
  if (!call.body.present) return null;
  if (call.expectsContinue) call.res.writeContinue();
  return new RequestBody(call.req, {
    maxBytes: Number.POSITIVE_INFINITY,
    clock,
    onFailure: () => answerRefusal(call, new Refusal('request_timeout'), clock),
  });
}

function requestHeaders(call: Call): string[] {
  const { rawHeaders } = call.req;
  const headers = endToEnd(rawHeaders, (lower) => !lower.startsWith('x-wherry-'));
  headers.push(PEER_HEADER, call.peer.address);
  return headers;
}

function responseHeaders(rawHeaders: readonly string[]): string[] {
  return endToEnd(rawHeaders, () => true);
}

function endToEnd(rawHeaders: readonly string[], keep: (lowerName: string) => boolean): string[] {
  const endsHere = hopByHop(rawHeaders);
  const headers: string[] = [];
  eachHeader(rawHeaders, (lower, value, name) => {
    if (!endsHere(lower) && keep(lower)) headers.push(name, value);
  });
  return headers;
}
