import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { useInstances } from '../testing/use-instances.ts';

// An app that was written with Hono answers here as it does on Node, also where its handlers return what they should
// not.

const { started, stopAll } = useInstances();
afterEach(stopAll);

const HANDLERS: Record<string, (c: Context) => unknown> = {
  'a text of Hono': (c) => c.text('fine', 201, { 'X-A': '1' }),
  'a Response': () => new Response('fine', { status: 202, headers: { 'X-A': '1' } }),
  'a string': () => 'only a string',
  'a number': () => 5,
  'an object': () => ({ status: 200 }),
  'an object with a body': () => ({ body: 'text', status: 200 }),
  'a status that is none': () => new Response('x', { status: 700 }),
  'a header that is none': () => new Response('x', { headers: { 'a b': 'c' } }),
  'a header with a line break': () => new Response('x', { headers: { a: 'b\nc' } }),
  'a status without a body': () => new Response('x', { status: 204 }),
  'a body that was read': async () => {
    const { body } = new Response('x');
    await new Response(body).text();
    return new Response(body);
  },
  'headers of a redirect': () => {
    const response = Response.redirect('http://a.example/');
    response.headers.set('x-a', '1');
    return response;
  },
  'what its error handler answers': () => {
    throw new Error('no');
  },
};
const middleware: MiddlewareHandler = async (c, next) => {
  c.header('X-Middleware', 'before');
  await next();
  c.header('X-After', 'after');
};

/** The same app, once here and once as the text of an artifact: each handler with middleware and without. */
const app = (handlers: ((c: Context) => unknown)[], wrap: MiddlewareHandler): Hono => {
  const made = new Hono().use('/with/*', wrap).onError((_error, c) => c.text('an error', 500));
  for (const [at, handler] of handlers.entries())
    made.on('GET', [`/with/${at}`, `/without/${at}`], handler as () => Response);
  return made;
};
const handlers = Object.values(HANDLERS);
const ARTIFACT = `
  import { Hono } from '${import.meta.resolve('hono')}';
  const app = ${app.toString()};
  export default app([${handlers.map(String).join()}], ${middleware.toString()});`;

it('answers as on Node, whatever its handlers return', async () => {
  const onNode = app(handlers, middleware);
  const instance = await started(ARTIFACT);
  for (const [at, what] of Object.keys(HANDLERS).entries()) {
    for (const path of [`/with/${at}`, `/without/${at}`]) {
      const wanted = await onNode.request(`http://api.example.com${path}`);
      const here = await instance.call({ path });
      // Without middleware Hono returns what its handler did: there is no answer in that for Node, nor for us.
      if (!(wanted instanceof Response)) expect([what, here.status]).toEqual([what, 500]);
      else {
        const expected = { status: wanted.status, body: await wanted.text(), ...Object.fromEntries(wanted.headers) };
        const { status, body, headers } = here;
        const got = {
          status,
          body,
          ...Object.fromEntries(
            Object.keys(expected).flatMap((name) => (name in headers ? [[name, headers[name]]] : [])),
          ),
        };
        expect({ what, path, ...got }).toEqual({ what, path, ...expected });
      }
    }
  }
});
