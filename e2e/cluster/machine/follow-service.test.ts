import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { followService } from './follow-service.ts';

async function listen(word: string): Promise<{ port: number; close: () => void }> {
  const server = createServer((socket) => socket.end(word)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

async function said(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('the way to a Service', () => {
  it('leads to the address that it has now: refused at the old one, or without an answer there', async () => {
    const server = await listen('hello');
    let host = 'first.invalid';
    let requests = 0;
    const lookUp = async (): Promise<string> => {
      requests++;
      return host;
    };
    // What is at no address: the one refuses, the other says nothing.
    const reach = async (address: { host: string; port: number }): Promise<Socket> => {
      if (address.host === 'silent.invalid') return new Promise<Socket>(() => undefined);
      if (address.host !== '127.0.0.1') throw new Error(`nothing is at ${address.host}`);
      const socket = connect(address);
      await once(socket, 'connect');
      return socket;
    };
    const way = followService(reach, lookUp, server.port);
    await expect(way()).rejects.toThrow('nothing is at first.invalid');
    host = '127.0.0.1';
    expect(await said(await way())).toBe('hello');
    requests = 0;
    expect(await said(await way())).toBe('hello');
    expect(requests).toBe(0);

    host = 'silent.invalid';
    const other = followService(reach, lookUp, server.port);
    const waiting = other();
    host = '127.0.0.1';
    expect(await said(await waiting)).toBe('hello');
    server.close();
  });

  it('waits for no lookup where the address that it knows answers late: while the API server is away no lookup ends', async () => {
    const server = await listen('hello');
    const lookedUp = Promise.withResolvers<void>();
    const lookUp = (): Promise<string> => {
      lookedUp.resolve();
      return new Promise(() => undefined);
    };
    const reach = async (address: { host: string; port: number }): Promise<Socket> => {
      await lookedUp.promise;
      const socket = connect(address);
      await once(socket, 'connect');
      return socket;
    };
    const way = followService(reach, lookUp, server.port, '127.0.0.1');
    expect(await said(await way())).toBe('hello');
    expect(await said(await way())).toBe('hello');
    server.close();
  });

  it('keeps the address that it knows when a lookup fails', async () => {
    const server = await listen('hello');
    let isReachable = false;
    const reach = async (address: { host: string; port: number }): Promise<Socket> => {
      if (!isReachable) throw new Error('the Service has no pods');
      const socket = connect(address);
      await once(socket, 'connect');
      return socket;
    };
    const way = followService(
      reach,
      () => Promise.reject(new Error('the API server is away')),
      server.port,
      '127.0.0.1',
    );
    await expect(way()).rejects.toThrow('the Service has no pods');
    isReachable = true;
    expect(await said(await way())).toBe('hello');
    server.close();
  });
});
