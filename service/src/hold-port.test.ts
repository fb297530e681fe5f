import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { quietPort } from '@wherry/testing/quiet-port.ts';
import { holdPort, type HeldPort } from './hold-port.ts';
import { listenOnSockets } from './listen-on-sockets.ts';

const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
const LOOPBACKS = ['127.0.0.1', ...(HAS_IPV6 ? ['::1'] : [])];
const NAMES = { setting: 'THE_PORT', hostSetting: 'THE_HOST' };
/** Answers each request with its pid. */
const CHILD = `require('node:http').createServer((_, res) => res.end(String(process.pid))).listen({ fd: 3 }, () => console.log('up'))`;

describe('holdPort', () => {
  let held: HeldPort | undefined;
  const servers: Server[] = [];
  const children: ChildProcess[] = [];
  afterEach(async () => {
    held?.close();
    for (const child of children.splice(0)) await end(child);
    for (const server of servers.splice(0)) if (server.listening) await once(server.close(), 'close');
  });

  async function end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async function listen(port: number, host?: string): Promise<string> {
    const server = createServer().listen({ port, host });
    servers.push(server);
    return once(server, 'listening').then(
      () => 'listens',
      (error: NodeJS.ErrnoException) => error.code ?? '',
    );
  }

  const answer = async (host: string, port: number): Promise<string> => {
    const response = await fetch(`http://${host.includes(':') ? `[${host}]` : host}:${port}`);
    return response.text();
  };

  async function launch({ sockets }: HeldPort): Promise<ChildProcess> {
    const stdio = ['ignore', 'pipe', 'inherit', sockets[0]!.fd] as const;
    const child = spawn(process.execPath, ['-e', CHILD], { stdio: [...stdio] });
    children.push(child);
    await once(child.stdout!, 'data');
    return child;
  }

  it('keeps the port, and the connections that come to it, from one child to the next', async () => {
    held = await holdPort({ port: 0, host: '127.0.0.1' }, 'THE_PORT');
    const first = await launch(held);
    expect(await answer('127.0.0.1', held.port)).toBe(String(first.pid));
    await end(first);
    expect(await listen(held.port, '127.0.0.1')).toBe('EADDRINUSE');
    const waiting = connect(held.port, '127.0.0.1');
    await once(waiting, 'connect');
    const second = await launch(held);
    waiting.end('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const [data] = (await once(waiting, 'data')) as [Buffer];
    expect(data.toString()).toContain(String(second.pid));
  });

  it.each(LOOPBACKS)('holds both loopback addresses for %s, and a server listens on both', async (host) => {
    held = await holdPort({ port: 0, host }, 'THE_PORT');
    const server = createHttpServer((_request, response) => response.end('ours'));
    const address = { port: 0, host };
    const { port, acceptors } = await listenOnSockets(server, held.sockets, { address, ...NAMES });
    servers.push(server, ...acceptors);
    for (const loopback of LOOPBACKS) {
      expect(await answer(loopback, port)).toBe('ours');
      expect(await listen(port, loopback)).toBe('EADDRINUSE');
    }
    server.closeAllConnections();
  });

  it('holds every address without a host', async () => {
    held = await holdPort({ port: 0 }, 'THE_PORT');
    await launch(held);
    for (const loopback of LOOPBACKS) expect(await listen(held.port, loopback)).toBe('EADDRINUSE');
  });

  it.each(LOOPBACKS)('names the setting and the address where the port is in use on %s', async (used) => {
    const port = await quietPort(LOOPBACKS);
    expect(await listen(port, used)).toBe('listens');
    const shown = used === '::1' ? '[::1]' : used;
    await expect(holdPort({ port, host: '127.0.0.1' }, 'THE_PORT', 'THE_HOST')).rejects.toThrow(
      `THE_PORT: cannot listen on ${shown}:${port}: it is in use (EADDRINUSE). Stop the program that listens there, or set another port.`,
    );
    // Nothing is left of the attempt.
    for (const other of LOOPBACKS.filter((host) => host !== used)) expect(await listen(port, other)).toBe('listens');
  });

  it('names the setting of the host where the machine does not have its address', async () => {
    const message = 'THE_HOST: cannot listen on 192.0.2.1:0: this machine does not have that address (EADDRNOTAVAIL).';
    await expect(holdPort({ port: 0, host: '192.0.2.1' }, 'THE_PORT', 'THE_HOST')).rejects.toThrow(message);
    await expect(holdPort({ port: 0, host: 'no.such.host.invalid' }, 'THE_PORT', 'THE_HOST')).rejects.toThrow(
      'THE_HOST: cannot listen on no.such.host.invalid:0',
    );
  });
});
