import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { StartError } from '@wherry/service/start-error.ts';

/**
 * Listens on a Unix socket that its own user and group alone may reach (0660).
 * @param variable the environment variable that names the path, for the error
 * @throws StartError
 */
export async function listenOnPath(server: Server, path: string, variable: string): Promise<void> {
  try {
    // What a killed program left; there is one of its kind a pod.
    await rm(path, { force: true });
    server.listen(path);
    await once(server, 'listening');
    await chmod(path, 0o660);
  } catch (error) {
    throw new StartError(
      `${variable}: ${path} cannot be listened on (${(error as NodeJS.ErrnoException).code ?? String(error)})`,
      error,
    );
  }
}
