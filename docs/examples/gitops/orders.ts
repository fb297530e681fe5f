export default async (c, ctx) =>
  c.json({ order: ctx.params.id, payable: (await ctx.getSecret('PAYMENT_TOKEN')) !== undefined });
