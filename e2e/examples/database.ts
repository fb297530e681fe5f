import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';

/** A PostgreSQL in this process, reached over its own protocol on loopback. */
export interface Database {
  url: string;
  /** Runs a script. */
  run(sql: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startDatabase(): Promise<Database> {
  const db = await PGlite.create();
  const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 20 });
  await server.start();
  return {
    url: `postgres://shop:a-password@${server.getServerConn()}/shop`,
    run: async (sql) => void (await db.exec(sql)),
    async stop() {
      await server.stop();
      await db.close();
    },
  };
}
