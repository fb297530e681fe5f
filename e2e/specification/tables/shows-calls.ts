/** A handler that answers what it was given, or fails as the query says. */
export const SHOWS = `
export default async (c, ctx) => {
  const { act } = c.req.query();
  if (act === 'throw') throw new Error('the inner reason');
  if (act === 'hang') await new Promise(() => {});
  if (act === 'fail') return c.text('of the handler', 500);
  if (act === 'headers') return c.text('x', 200, { 'x-large': 'x'.repeat(33_000) });
  if (act === 'exit') process.exit(1);
  return c.json({
    method: c.req.method,
    path: c.req.path,
    params: ctx.params,
    query: c.req.query(),
    headers: Object.fromEntries(c.req.raw.headers),
    group: ctx.authenticatedKeyGroup ?? null,
    token: (await ctx.getSecret('TOKEN')) ?? null,
    body: await c.req.text(),
  }, 200, { 'access-control-allow-origin': 'https://handler.example' });
};`;
