import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Call } from './call.ts';
import { errorBody, type Refusal } from './refusal.ts';

/** How long a caller may go on sending a body that nobody wants, so that it can read the answer before the end. */
const LINGER_MS = 1000;

/** Answers with the error body of the REST contract. @param headers flat list, besides the refusal's own. */
export function answerRefusal(call: Call, refusal: Refusal, clock: Clock, headers: readonly string[] = []): void {
  const { req, res } = call;
  if (res.headersSent || res.destroyed) {
    req.socket.destroy();
    return;
  }
  const body = errorBody(refusal, call.id);
  // A caller that was not told to continue may or may not send its body: only the end of the connection is clear.
  const ends = call.expectsContinue && !req.complete ? ['Connection', 'close'] : [];
  res.writeHead(refusal.status, [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    'X-Request-Id',
    call.id,
    ...refusal.headers,
    ...headers,
    ...ends,
  ]);
  res.end(body);
  discardBody(call, clock);
}

/** Reads on what is left of a body, for a moment: a connection that was closed at once could lose the answer. */
export function discardBody(call: Call, clock: Clock): void {
  const { req } = call;
  if (!call.body.present || req.complete) return;
  const cancel = clock.after(LINGER_MS, () => {
    if (!req.complete) req.socket.destroy();
  });
  req.once('close', cancel);
  req.once('end', cancel);
  req.resume();
}
