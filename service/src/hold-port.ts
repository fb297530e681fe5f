import { lookup } from 'node:dns/promises';
import net, { isIP } from 'node:net';
import { getSystemErrorName } from 'node:util';
import { listenError, type PortAddress } from './listen-or-fail.ts';

/** A TCP port that belongs to this process until `close`, whoever listens on its sockets. */
export interface HeldPort {
  readonly port: number;
  /** One for each of its addresses. A child that inherits the descriptor of one listens on that very socket. */
  readonly sockets: readonly HeldSocket[];
  close(): void;
}

/** What `listen` of Node's servers takes; a server that did closes it. */
export interface HeldSocket {
  readonly fd: number;
  close(): void;
}

type Names = { setting: string; hostSetting: string };

/**
 * Whoever types `localhost` may reach either of the two: where only one is ours, another program can have the other, and
 * with it the caller's key. `0.0.0.0` is every address of one family alone.
 */
const ALSO: Readonly<Record<string, string>> = { '127.0.0.1': '::1', '::1': '127.0.0.1', '0.0.0.0': '::1' };
/** A machine without that family. */
const ABSENT = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);
/** For any free port: it must be free on both addresses. */
const ATTEMPTS = 20;

/**
 * Binds a port without listening, so that a child can listen on it, and another one after that has died, while no other
 * program gets it. A loopback address is held in both families, where the machine has both.
 * @throws StartError as `listenOrFail` does
 */
export async function holdPort(address: PortAddress, setting: string, hostSetting = setting): Promise<HeldPort> {
  const names = { setting, hostSetting };
  const host = await resolve(address, names);
  for (let attempt = 1; ; attempt += 1) {
    const first = bind({ ...address, host }, names);
    try {
      const also = ALSO[host ?? ''];
      const second = also === undefined ? undefined : bindIfPresent({ host: also, port: first.port }, names);
      const sockets = [first.socket, ...(second === undefined ? [] : [second.socket])];
      return { port: first.port, sockets, close: () => sockets.forEach((socket) => socket.close()) };
    } catch (error) {
      first.socket.close();
      if (address.port !== 0 || attempt === ATTEMPTS) throw error;
    }
  }
}

async function resolve(address: PortAddress, names: Names): Promise<string | undefined> {
  const { host } = address;
  if (host === undefined || isIP(host) !== 0) return host;
  try {
    return (await lookup(host)).address;
  } catch (error) {
    throw listenError(error as NodeJS.ErrnoException, address, names);
  }
}

function bindIfPresent(address: PortAddress, names: Names): Bound | undefined {
  try {
    return bind(address, names);
  } catch (error) {
    const { code } = (error as Error).cause as NodeJS.ErrnoException;
    if (ABSENT.has(code ?? '')) return undefined;
    throw error;
  }
}

interface Bound {
  socket: HeldSocket;
  port: number;
}

/** What Node's cluster module binds with: its documented functions listen, and accept, at once. */
const internals = net as unknown as {
  _createServerHandle(host: string | null, port: number, family: 4 | 6 | -1): Handle | number;
};

interface Handle extends HeldSocket {
  getsockname(out: { port?: number }): number;
}

function bind(address: PortAddress, names: Names): Bound {
  const { host, port } = address;
  const handle = internals._createServerHandle(host ?? null, port, host === undefined ? -1 : (isIP(host) as 4 | 6));
  const bound: { port?: number } = {};
  // That the port is in use shows only when the socket is asked for its name.
  const status = typeof handle === 'number' ? handle : handle.getsockname(bound);
  if (typeof handle !== 'number' && status === 0) return { socket: handle, port: bound.port ?? port };
  if (typeof handle !== 'number') handle.close();
  const code = getSystemErrorName(status);
  throw listenError(Object.assign(new Error(code), { code }), address, names);
}
