import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join, reset } from './relay-protocol.ts';

/** A listener on loopback that leads somewhere else. */
export interface Forward {
  port: number;
  /** `http://127.0.0.1:<port>`. */
  url: string;
  close(): Promise<void>;
}

/** Listens on an ephemeral port of loopback, and leads each connection to a new one that `connect` opens. */
export async function forward(connect: () => Promise<Socket>): Promise<Forward> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    connect().then(
      (other) => {
        join(socket, other);
        socket.resume();
      },
      () => reset(socket),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
