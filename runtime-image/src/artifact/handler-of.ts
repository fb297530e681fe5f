import type { Context } from 'hono';
import type { HandlerContext } from '../call/handler-context.ts';

/** The two forms of a handler's default export. What they return is unknown until it was looked at. */
export type Handler =
  | { form: 'function'; call: (c: Context, ctx: HandlerContext) => unknown }
  | { form: 'fetch'; call: (request: Request, env: Record<string, string>, ctx: HandlerContext) => unknown };

type Found = { ok: true; handler: Handler } | { ok: false; reason: 'ExportError'; message: string };

const EXPECTED =
  'The handler must have as its default export a function (c, ctx) => Response, or an object with fetch(request, env, ctx)';

/** The handler in a module, or what is wrong with its default export. */
export function handlerOf(module: { default?: unknown }): Found {
  const exported = module.default;
  if (typeof exported === 'function') {
    if (isClass(exported)) return refused(`but it is the class ${exported.name || 'without a name'}`);
    return { ok: true, handler: { form: 'function', call: exported as (c: unknown, ctx: unknown) => unknown } };
  }
  if (typeof exported === 'object' && exported !== null) {
    const object = exported as { fetch?: (...args: unknown[]) => unknown };
    if (typeof object.fetch !== 'function') return refused(`but it is an object ${keysOf(exported)}`);
    return { ok: true, handler: { form: 'fetch', call: (...args) => object.fetch?.(...args) } };
  }
  return refused('default' in module ? `but it is ${nameOf(exported)}` : missing(module));
}

const refused = (found: string): Found => ({ ok: false, reason: 'ExportError', message: `${EXPECTED}, ${found}.` });

const isClass = (value: object): boolean => /^class\b/.test(Function.prototype.toString.call(value));

const nameOf = (value: unknown): string =>
  value === null || value === undefined ? String(value) : `a ${typeof value}`;

function missing(module: object): string {
  const names = Object.keys(module);
  return names.length === 0 ? 'but the file exports nothing' : `but it exports only ${names.slice(0, 10).join(', ')}`;
}

function keysOf(value: object): string {
  if (Array.isArray(value)) return 'that is an array';
  const keys = Object.keys(value);
  return keys.length === 0 ? 'without members' : `with only ${keys.slice(0, 10).join(', ')}`;
}
