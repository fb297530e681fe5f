import type { Context } from 'hono';
import type { HandlerContext } from './handler-context.ts';

/** The two forms of a handler's default export. What they return is unknown until it is checked. */
export type Handler =
  | { form: 'function'; call: (c: Context, ctx: HandlerContext) => unknown }
  | { form: 'fetch'; call: (request: Request, env: Record<string, string>, ctx: HandlerContext) => unknown };
