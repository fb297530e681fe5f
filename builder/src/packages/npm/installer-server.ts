import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { listenOrFail } from '@wherry/service/listen-or-fail.ts';
import { createSemaphore, type Semaphore } from '@wherry/service/semaphore.ts';
import type { Answer } from './install-session.ts';
import type { Installer } from './installer.ts';
import {
  MAX_LINE_BYTES,
  socketOrderSchema,
  type InstallReport,
  type ResolveOrder,
  type TarballOrder,
} from './protocol.ts';
import { sendTarball } from './protocol.ts';

/** The builder has one connection, and for a moment two when it restarts. */
const MAX_CONNECTIONS = 4;
/** Orders of one connection that are worked on at once: each may hold a tarball in memory. */
const ORDERS_AT_ONCE = 8;

interface InstallerServerOptions {
  /** Of the Unix socket, in a folder that the builder's container shares. */
  path: string;
  installer: Installer;
  logger: Logger;
}

/**
 * Serves the registry's packages on a Unix socket (0660), and keeps the token to itself.
 * @throws StartError when it cannot listen there.
 */
export async function startInstallerServer({
  path,
  installer,
  logger,
}: InstallerServerOptions): Promise<{ stop(): Promise<void> }> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    new Connection(socket, installer)
      .serve()
      .catch((err: unknown) => logger.error({ err }, 'a connection of the installer failed'))
      .finally(() => open.delete(socket));
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listenOrFail(server, { path, mode: 0o660 }, 'WHERRY_INSTALLER_SOCKET');
  return {
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
      await installer.stop();
    },
  };
}

class Connection {
  readonly #channel: FeedChannel;
  readonly #installer: Installer;
  readonly #semaphore: Semaphore = createSemaphore(ORDERS_AT_ONCE);
  readonly #running = new Map<number, AbortController>();

  constructor(socket: Socket, installer: Installer) {
    this.#channel = jsonLines(socket, { maxBufferedBytes: MAX_LINE_BYTES });
    this.#installer = installer;
  }

  /** Runs until the other end disconnects, or sends an invalid order. */
  async serve(): Promise<void> {
    for await (const line of this.#channel.messages()) {
      const order = socketOrderSchema.safeParse(line);
      if (!order.success) break;
      if (order.data.type === 'cancel') this.#running.get(order.data.id)?.abort(new Error('it was cancelled'));
      else void this.#answer(order.data);
    }
    this.#channel.close();
    for (const controller of this.#running.values()) controller.abort(new Error('the client has disconnected'));
  }

  async #answer({ id, ...order }: ResolveOrder | TarballOrder): Promise<void> {
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const release = await this.#semaphore.acquire(controller.signal);
      try {
        this.#send(id, await this.#installer.request(order, controller.signal));
      } finally {
        release();
      }
    } catch {
      this.#send(id, { failure: { reason: 'InstallFailed', message: 'It was cancelled.', packages: [] } });
    } finally {
      this.#running.delete(id);
    }
  }

  #send(id: number, answer: Answer): void {
    if ('bytes' in answer) sendTarball(this.#channel, id, answer.bytes);
    else if ('packages' in answer)
      this.#channel.send({ type: 'resolved', id, packages: answer.packages } satisfies InstallReport);
    else this.#channel.send({ type: 'failed', id, ...answer.failure });
  }
}
