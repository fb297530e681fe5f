import type { Handler } from '../wherry.d.ts';

const handler: Handler = async (c, ctx) =>
  c.json({ order: ctx.params['id'], payable: (await ctx.getSecret('PAYMENT_TOKEN')) !== undefined });

export default handler;
