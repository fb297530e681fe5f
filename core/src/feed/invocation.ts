/*
 * Headers that router and runtime exchange in addition to the call itself. A caller's own `X-Wherry-*` headers never
 * get here (R5), so these can be trusted once the token is right.
 */

/** Request: the instance's invocation token (S2). Anything else is answered 401. */
export const TOKEN_HEADER = 'x-wherry-token';
/** Request: JSON of InvocationContext, base64url. */
export const CONTEXT_HEADER = 'x-wherry-context';
/**
 * Response: how the call ended where its status cannot say: `error` (it threw), `timeout`, `full` (it was not run,
 * because no slot was free).
 */
export const OUTCOME_HEADER = 'x-wherry-outcome';

/**
 * Request, router to manager on equal ports: the address of the router's own peer. The manager trusts it only on the
 * router's Unix socket, and applies TRUSTED_PROXIES to it and to the caller's X-Forwarded-*, which are passed on
 * verbatim.
 */
export const PEER_HEADER = 'x-wherry-peer';

/** What the router determined about a call. */
export interface InvocationContext {
  requestId: string;
  /** Milliseconds since 1970 UTC, with a fraction. */
  requestedAt: number;
  /** Milliseconds from `requestedAt` to the timeout. */
  timeoutMs: number;
  /** Path parameters, percent-decoded once; `*` is the rest. */
  params: Record<string, string>;
  /** `http` or `https`, as the caller saw it. */
  scheme: 'http' | 'https';
  /**
   * How many calls the instance may answer at once: its share of the function's `maxConcurrency`; this is all that
   * makes several routers keep to that limit together. If absent, there is no limit.
   */
  slots?: number;
  /** The key that the caller presented, for functions with key groups. */
  key?: { id: string; name: string; groupId: string; groupName: string };
}
