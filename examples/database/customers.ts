import type { Handler } from '../wherry.d.ts';
import { database } from './connection.ts';

const handler: Handler = async (c, ctx) => {
  const db = await database(ctx);
  const { id } = ctx.params;
  if (c.req.method === 'PUT') {
    const body = await c.req.json<{ name?: unknown }>().catch(() => ({ name: undefined }));
    if (typeof body.name !== 'string' || body.name === '')
      return c.json({ error: 'name must be a text that is not empty' }, 400);
    // Values are parameters, never part of the SQL text.
    await db.query(
      'insert into customers (id, name) values ($1, $2) on conflict (id) do update set name = excluded.name',
      [id, body.name],
    );
  }
  const { rows } = await db.query<{ id: string; name: string }>('select id, name from customers where id = $1', [id]);
  const [customer] = rows;
  return customer === undefined ? c.json({ error: `There is no customer ${id}.` }, 404) : c.json(customer);
};

export default handler;
