import type { Handler } from '../wherry.d.ts';

const handler: Handler = async (c, ctx) => {
  const [url, key] = await Promise.all([ctx.getSecret('LLM_URL'), ctx.getSecret('LLM_KEY')]);
  if (!url || !key) return c.json({ error: { message: 'The secrets LLM_URL and LLM_KEY are not set.' } }, 503);
  const upstream = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    // No header of the caller goes on.
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: await c.req.arrayBuffer(),
    redirect: 'error',
    // A caller who leaves ends the upstream's work, too.
    signal: ctx.signal,
  }).catch((error: unknown) => {
    console.error('The upstream cannot be reached:', error);
    return undefined;
  });
  if (upstream === undefined) return c.json({ error: { message: 'The upstream cannot be reached.' } }, 502);
  console.log(`${ctx.authenticatedKeyGroup}: the upstream answered ${upstream.status}`);
  // The body is passed on as it comes, event by event.
  const type = upstream.headers.get('content-type') ?? 'application/json';
  return new Response(upstream.body, { status: upstream.status, headers: { 'content-type': type } });
};

export default handler;
