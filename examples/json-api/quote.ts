import { z } from 'zod';
import type { Handler } from '../wherry.d.ts';

/** In cents. */
const PRICES = { tea: 350, mug: 900 };

const orderSchema = z.object({
  items: z.array(z.object({ article: z.enum(['tea', 'mug']), quantity: z.int().min(1).max(100) })).min(1),
});

const handler: Handler = async (c) => {
  // A body that is not JSON becomes undefined, which the schema rejects like any other bad order.
  const order = orderSchema.safeParse(await c.req.json().catch(() => undefined));
  if (!order.success) return c.json({ error: 'invalid_order', problems: order.error.issues.map(describe) }, 400);
  const totalCents = order.data.items.reduce((sum, { article, quantity }) => sum + PRICES[article] * quantity, 0);
  return c.json({ totalCents, currency: 'EUR' });
};

function describe({ path, message }: z.core.$ZodIssue): { field: string; message: string } {
  return { field: path.join('.'), message };
}

export default handler;
