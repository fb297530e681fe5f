import type { ServerResponse } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { endAfterBody } from '@wherry/service/end-after-body.ts';
import type { Call } from './call.ts';
import { answerTo, type Refusal } from './refusal.ts';

/**
 * How long a caller may keep sending a body that is not needed, so that it can read the answer before the connection
 * ends.
 */
const LINGER_MS = 1000;
/** How long a caller may take to read an answer of the router's own. */
const UNREAD_MS = 10_000;

/** Answers with the error body of the REST contract. @param headers flat list, besides the refusal's own. */
export function answerRefusal(call: Call, refusal: Refusal, clock: Clock, headers: readonly string[] = []): void {
  const { req, res } = call;
  if (res.headersSent || res.destroyed) {
    req.socket.destroy();
    return;
  }
  const answer = answerTo(refusal, call.id);
  // A caller that got no `100 Continue` may or may not send its body: only the end of the connection is clear.
  const ends = call.expectsContinue && !req.complete ? ['Connection', 'close'] : [];
  res.writeHead(refusal.status, [...answer.headers, ...headers, ...ends]);
  endAfterBody(req, res, answer.body);
  closeUnread(res, clock);
  discardBody(call, clock);
}

/**
 * Ends the connection whose caller does not read an answer that is complete: until it has been sent, the connection is
 * neither idle nor subject to any other limit (R11, R12). The time of an answer that waits behind others begins when it
 * is its turn.
 */
export function closeUnread(res: ServerResponse, clock: Clock, ms = UNREAD_MS): void {
  if (res.writableFinished) return;
  const watch = (): void => {
    const { socket } = res;
    res.once(
      'close',
      clock.after(ms, () => socket?.destroy()),
    );
  };
  if (res.socket === null) res.once('socket', watch);
  else watch();
}

/** Keeps reading the rest of a body for a moment: if the connection were closed at once, the answer could be lost. */
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
