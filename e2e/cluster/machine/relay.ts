/**
 * The connection between inside and outside: runs inside the namespaces, where it opens connections and listens for
 * others outside. They meet at Unix sockets in the file system, which both sides see.
 *   node relay.ts PATH_OF_ITS_SOCKET
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join, readLine, sendLine, type RelayOrder } from './relay-protocol.ts';

async function serve(control: Socket): Promise<void> {
  const order = await readLine<RelayOrder>(control);
  try {
    if ('connect' in order) await open(control, order.connect);
    else await listen(control, order);
  } catch (error) {
    sendLine(control, { error: (error as Error).message });
    control.end();
  }
}

async function open(control: Socket, address: { host: string; port: number }): Promise<void> {
  const socket = connect({ ...address, allowHalfOpen: true });
  control.once('close', () => socket.destroy());
  await once(socket, 'connect');
  sendLine(control, { port: address.port });
  join(control, socket);
}

async function listen(control: Socket, order: Extract<RelayOrder, { listen: object }>): Promise<void> {
  const server = createServer({ allowHalfOpen: true }, (inner) => {
    const outer = connect({ path: order.socket, allowHalfOpen: true });
    join(inner, outer);
  });
  server.listen(order.listen);
  await once(server, 'listening');
  control.once('close', () => server.close());
  control.on('end', () => control.destroy());
  control.resume();
  sendLine(control, { port: (server.address() as AddressInfo).port });
}

const server = createServer({ allowHalfOpen: true }, (control) => {
  control.on('error', () => control.destroy());
  serve(control).catch(() => control.destroy());
});
server.listen(process.argv[2]);
