import type { RuntimeFunction } from '@wherry/core/feed/messages.ts';
import type { CompleteSecret, SecretScope, SecretView } from '../secrets/secret-store.ts';
import type { Call } from './call.ts';

/** The matched function, as handlers see it. */
export interface HandlerRoute {
  readonly name: string;
  readonly description?: string;
  readonly handler: string;
  readonly route: string;
  readonly methods: readonly string[];
  /** Ids of the key groups that may call. */
  readonly keys?: readonly string[];
}

/** Frozen: all calls share it. */
export function handlerRoute(fn: RuntimeFunction): HandlerRoute {
  return Object.freeze({
    name: fn.name,
    ...(fn.description === null ? {} : { description: fn.description }),
    handler: fn.handler,
    route: fn.route,
    methods: Object.freeze([...fn.methods]),
    ...(fn.keyGroups === null ? {} : { keys: Object.freeze([...fn.keyGroups]) }),
  });
}

interface HandlerContextParts {
  call: Call;
  route: HandlerRoute;
  secrets: SecretView;
  /** Without the question mark. */
  search: string;
}

/** The `ctx` of both handler forms. Its methods need no receiver: `({ getSecret }) => …` works. */
export class HandlerContext {
  readonly route: HandlerRoute;
  readonly params: Record<string, string>;
  readonly authenticatedKeyGroup: string | undefined;
  readonly requestId: string;
  readonly #parts: HandlerContextParts;
  #query: Record<string, string> | undefined;
  #requestedAt: Date | undefined;

  constructor(parts: HandlerContextParts) {
    const { context } = parts.call;
    this.#parts = parts;
    this.route = parts.route;
    this.params = context.params;
    this.authenticatedKeyGroup = context.key?.groupName;
    this.requestId = context.requestId;
  }

  get requestedAt(): Date {
    return (this.#requestedAt ??= new Date(this.#parts.call.context.requestedAt));
  }

  /** The last value of each parameter. */
  get query(): Record<string, string> {
    return (this.#query ??= Object.fromEntries(new URLSearchParams(this.#parts.search)));
  }

  get signal(): AbortSignal {
    return this.#parts.call.signal;
  }

  readonly getSecret = async (name: string, scope?: SecretScope): Promise<string | undefined> =>
    this.#parts.secrets.get(name, scope);

  readonly getCompleteSecret = async (name: string): Promise<CompleteSecret | undefined> =>
    this.#parts.secrets.complete(name);

  readonly remainingTimeMs = (): number => this.#parts.call.remainingTimeMs();

  readonly waitUntil = (promise: unknown): void => this.#parts.call.waitUntil(promise);
}
