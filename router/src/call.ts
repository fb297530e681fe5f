import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RouterKey } from '@wherry/core/feed/messages.ts';
import type { Peer } from './headers/peer.ts';
import type { BodyInfo } from './http-framing/check-size.ts';
import type { RoutedFunction } from './state/routed-function.ts';
import type { Target } from './request-target/parse-target.ts';

/** A request on the function port. */
export interface Call {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** UUID; a trusted proxy's own when it is one. */
  readonly id: string;
  /** Arrival: milliseconds since 1970 UTC, and on the monotonic clock. */
  readonly requestedAt: number;
  readonly arrivedAt: number;
  readonly peer: Peer;
  readonly body: BodyInfo;
  /** The caller sends its body after `100 Continue` (`Expect: 100-continue`). */
  readonly expectsContinue: boolean;
}

/** A call whose function is known. */
export interface RoutedCall extends Call {
  readonly target: Target;
  readonly fn: RoutedFunction;
  /** What the function's CORS rules add to every answer. */
  readonly cors: readonly string[];
}

/** A call that may reach its function. */
export interface AdmittedCall extends RoutedCall {
  /** The key that authenticated it; undefined where none is required. */
  readonly auth: { key: RouterKey } | undefined;
  /** The values of all keys in its headers and its target: they are not forwarded (R6). */
  readonly keys: readonly string[];
  /** What every answer says of the limits of its key; empty without any. */
  readonly limitHeaders: readonly string[];
  /** Releases its slot among the calls that the router holds. */
  readonly leave: () => void;
}
