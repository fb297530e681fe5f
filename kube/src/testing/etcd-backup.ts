import { cp, rm } from 'node:fs/promises';
import path from 'node:path';

/** Both programs of a test's API server, which stand still while etcd's files are copied. */
interface Stoppable {
  folder: string;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Keeps what etcd holds now, beside it. The API server is away meanwhile. */
export async function backUpEtcd(server: Stoppable): Promise<void> {
  await server.stop();
  await cp(path.join(server.folder, 'etcd'), path.join(server.folder, 'etcd-backup'), { recursive: true });
  await server.start();
}

/** Puts back what was kept, in place: resourceVersions go back. The API server is away meanwhile. */
export async function restoreEtcd(server: Stoppable): Promise<void> {
  await server.stop();
  await rm(path.join(server.folder, 'etcd'), { recursive: true });
  await cp(path.join(server.folder, 'etcd-backup'), path.join(server.folder, 'etcd'), { recursive: true });
  await server.start();
}
