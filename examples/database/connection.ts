import pg from 'pg';
import type { FunctionContext } from '../wherry.d.ts';

/** At the top of the module: all calls of an instance share the connections. */
let current: { url: string; pool: pg.Pool } | undefined;

/**
 * The connections to the database that the secret DATABASE_URL names. When the secret changes, new calls use the new
 * one, and the old connections close after their last query.
 */
export async function database(ctx: FunctionContext): Promise<pg.Pool> {
  const url = await ctx.getSecret('DATABASE_URL');
  if (!url) throw new Error('The secret DATABASE_URL is not set.');
  if (current?.url !== url) {
    const previous = current?.pool;
    current = { url, pool: connect(url) };
    if (previous !== undefined) ctx.waitUntil(previous.end());
  }
  return current.pool;
}

function connect(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 5, connectionTimeoutMillis: 5000 });
  // The pool replaces an idle connection that breaks. Without a listener, the error would end the process.
  pool.on('error', (error) => console.warn('An idle database connection broke:', error.message));
  return pool;
}
