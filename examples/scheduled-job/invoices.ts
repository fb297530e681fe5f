import { database } from '../database/connection.ts';
import type { Handler } from '../wherry.d.ts';

/**
 * A scheduler may call late, twice, or twice at once: the month is a parameter, not the present one, and one statement
 * creates the missing invoices, of which the table's primary key allows one per customer and month.
 */
const CREATE_MISSING = `
  insert into invoices (customer, month, cents)
  select customer, $1::text, sum(cents) from orders where to_char(ordered_on, 'YYYY-MM') = $1 group by customer
  on conflict (customer, month) do nothing`;

const handler: Handler = async (c, ctx) => {
  const { month = '' } = ctx.params;
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) return c.json({ error: 'The month must look like 2026-10.' }, 400);
  const db = await database(ctx);
  const { rowCount } = await db.query(CREATE_MISSING, [month]);
  console.log(`${month}: created ${rowCount ?? 0} invoices`);
  return c.json({ month, created: rowCount });
};

export default handler;
