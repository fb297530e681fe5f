import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { useInstances } from '../testing/use-instances.ts';

const { started, stopAll } = useInstances();
let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer((incoming, outgoing) => {
    if (incoming.url !== '/gzip')
      return void incoming.pipe(
        outgoing.writeHead(200, { 'x-method': incoming.method, 'x-names': Object.keys(incoming.headers).join() }),
      );
    const packed = gzipSync('unpacked '.repeat(100));
    outgoing
      .writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length, 'content-type': 'text/x-test' })
      .end(packed);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(stopAll);
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe("a fetched answer is the handler's answer", () => {
  it.each([
    ['as it is', `() => fetch(url)`],
    ['with its parts', `async () => { const r = await fetch(url); return new Response(r.body, r); }`],
    ['as a copy', `async () => (await fetch(url)).clone()`],
  ])('%s, unpacked, with headers that say so', async (_what, code) => {
    const instance = await started(`const url = '${origin}/gzip'; export default ${code};`);
    const { headers, body } = await instance.call();
    expect(body).toBe('unpacked '.repeat(100));
    expect(headers['content-type']).toBe('text/x-test');
    expect(headers).not.toHaveProperty('content-encoding');
  });
});

describe('the request can be sent on', () => {
  it.each([
    ['by fetch itself', `(c) => fetch(new Request(origin + c.req.path, c.req.raw))`],
    [
      'as the init of another',
      `({ req }) => fetch(origin + '/', { method: req.method, headers: req.raw.headers, body: req.raw.body, duplex: 'half' })`,
    ],
  ])('%s', async (_what, code) => {
    const instance = await started(`const origin = '${origin}'; export default ${code};`);
    const { headers, body } = await instance.call({
      method: 'POST',
      body: 'ping',
      headers: { 'x-own': '1', 'content-length': 4 },
    });
    expect([headers['x-method'], body]).toEqual(['POST', 'ping']);
    expect(headers['x-names']).toContain('x-own');
    expect(headers['x-names']).not.toContain('x-wherry');
  });

  it('its own url is fetched as it stands', async () => {
    const instance = await started(`export default (c) => fetch(c.req.raw);`);
    const { body } = await instance.call({
      method: 'PUT',
      path: '/x',
      body: 'to itself',
      headers: { host: origin.slice('http://'.length) },
    });
    expect(body).toBe('to itself');
  });
});
