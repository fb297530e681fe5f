/*
 * Types of a handler, for your editor: `import type { Handler } from '../wherry.d.ts'`. Wherry strips types and never
 * reads this file, so you need not upload it. docs/guides/handlers.md explains each member.
 */
import type { Context } from 'hono';

export type SecretScope = 'global' | 'function' | 'group' | 'key';

/** The call, and what the function may use: the second argument of a handler. */
export interface FunctionContext {
  /** The function whose route matched. */
  readonly route: {
    readonly name: string;
    readonly description?: string;
    readonly handler: string;
    readonly route: string;
    readonly methods: readonly string[];
    /** Ids of the key groups that may call. */
    readonly keys?: readonly string[];
  };
  /** Path parameters, percent-decoded; `params['*']` is the rest of a route that ends in `*`. */
  readonly params: Readonly<Record<string, string>>;
  /** The last value of each query parameter. */
  readonly query: Readonly<Record<string, string>>;
  /** Name of the caller's key group, when the function requires keys. */
  readonly authenticatedKeyGroup: string | undefined;
  readonly requestedAt: Date;
  readonly requestId: string;
  /** Aborted at the function's timeout and when the caller goes away. */
  readonly signal: AbortSignal;
  /** The value from the narrowest scope that has one, or from the given scope; undefined when there is none. */
  readonly getSecret: (name: string, scope?: SecretScope) => Promise<string | undefined>;
  /** The secret's value in each scope. */
  readonly getCompleteSecret: (name: string) => Promise<object | undefined>;
  /** What is left of the function's timeout, in milliseconds. */
  readonly remainingTimeMs: () => number;
  /** Keeps the call open, within the timeout, for work that goes on after the answer. */
  readonly waitUntil: (promise: unknown) => void;
}

/** A handler as a function; `c` is a Hono Context. */
export type Handler = (c: Context, ctx: FunctionContext) => Response | Promise<Response>;
