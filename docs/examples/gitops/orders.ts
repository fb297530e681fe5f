export default (c, ctx) =>
  c.json({ order: ctx.params.id, payable: ctx.getSecret('PAYMENT_TOKEN') !== undefined });
