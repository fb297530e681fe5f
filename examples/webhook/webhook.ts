import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Handler } from '../wherry.d.ts';

const handler: Handler = async (c, ctx) => {
  const secret = await ctx.getSecret('WEBHOOK_SECRET');
  if (!secret) return c.json({ error: 'The secret WEBHOOK_SECRET is not set.' }, 503);
  // The signature is of the bytes: read them before anything parses them.
  const body = Buffer.from(await c.req.arrayBuffer());
  if (!isSigned(body, c.req.header('x-hub-signature-256'), secret)) {
    return c.json({ error: 'The signature is missing or wrong.' }, 401);
  }
  const event = c.req.header('x-github-event') ?? 'unknown';
  console.log(`received ${event}, delivery ${c.req.header('x-github-delivery') ?? 'without id'}`);
  return c.json({ received: event }, 202);
};

function isSigned(body: Buffer, header: string | undefined, secret: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(header ?? '');
  // With ===, the time of the comparison would reveal how many characters are right. timingSafeEqual requires equal
  // lengths.
  return given.length === expected.length && timingSafeEqual(given, expected);
}

export default handler;
