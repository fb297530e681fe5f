import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import type { Machine } from './machine.ts';
import { join } from './relay-protocol.ts';

/** This machine as it is, for a Docker daemon or a cluster that was there before. */
export const thisMachine: Machine = {
  start: spawn,
  async connect(address) {
    const socket = connect({ ...address, allowHalfOpen: true });
    await once(socket, 'connect');
    return socket;
  },
  async publish(there, ours) {
    const server = createServer({ allowHalfOpen: true }, (socket) =>
      join(socket, connect({ ...ours, allowHalfOpen: true })),
    );
    server.listen(there);
    await once(server, 'listening');
    const address = { host: there.host, port: (server.address() as AddressInfo).port };
    return { address, close: async () => void server.close() };
  },
};
