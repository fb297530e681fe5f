import { Context } from 'hono';
import { getPath } from 'hono/utils/url';
import type { LazyRequest } from '../http/lazy-request.ts';
import { environmentOf } from '../secrets/environment-of.ts';
import type { SecretView } from '../secrets/secret-store.ts';
import type { HandlerContext } from './handler-context.ts';
import type { Handler } from './handler.ts';

/** Calls the handler in the form that it has. Returns what it returns, which may be anything. */
export function invoke(handler: Handler, request: LazyRequest, ctx: HandlerContext, secrets: SecretView): unknown {
  const web = request as unknown as Request;
  if (handler.form === 'fetch') return handler.call(web, environmentOf(secrets), ctx);
  return handler.call(honoContext(web, ctx), ctx);
}

function honoContext(request: Request, ctx: HandlerContext): Context {
  const { route } = ctx;
  return new Context(request, {
    env: {},
    path: getPath(request),
    executionCtx: ctx as unknown as ExecutionContext,
    notFoundHandler: () => new Response('404 Not Found', { status: 404 }),
    // What Hono's router would have found. Hono decodes the parameters once more: so each % is encoded again.
    matchResult: [
      [[[noHandler, { basePath: '/', handler: noHandler, method: 'ALL', path: route.route }], encoded(ctx.params)]],
    ],
  } as unknown as ConstructorParameters<typeof Context>[1]);
}

type ExecutionContext = Context['executionCtx'];
const noHandler = (): undefined => undefined;

function encoded(params: Record<string, string>): Record<string, string> {
  for (const name in params) {
    if (params[name]?.includes('%') === true) {
      return Object.fromEntries(Object.entries(params).map(([key, value]) => [key, value.replaceAll('%', '%25')]));
    }
  }
  return params;
}
