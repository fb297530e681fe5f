import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { boundedFetch, isProtected } from './bounded-fetch.ts';

const OPTIONS = { body: undefined, headers: {}, method: 'GET', redirect: 'manual' } as const;

describe('requests to a provider', () => {
  let server: Server | undefined;
  const serve = async (listener: RequestListener): Promise<string> => {
    server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };
  afterEach(async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => void (server === undefined ? resolve(0) : server.close(resolve)));
    server = undefined;
  });

  it.each([
    ['https://id.example.com', true],
    ['http://localhost:8080', true],
    ['http://127.9.9.9', true],
    ['http://[::1]:8080', true],
    ['http://id.example.com', false],
    ['http://localhost.example.com', false],
    ['http://192.0.2.1', false],
    ['http://[::ffff:192.0.2.1]', false],
    ['ftp://localhost', false],
    ['file:///etc/passwd', false],
  ])('to %s are protected: %s', (url, expected) => {
    expect(isProtected(new URL(url))).toBe(expected);
  });

  it('go nowhere else, whatever a document of the provider says', async () => {
    await expect(boundedFetch('http://192.0.2.1/token', OPTIONS)).rejects.toThrow('http://192.0.2.1 is not https');
  });

  it('have the answer as it is, and follow no redirect', async () => {
    const url = await serve((request, response) => {
      if (request.url === '/') response.writeHead(302, { Location: '/other' }).end();
      else response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"a":1}');
    });
    expect((await boundedFetch(url, OPTIONS)).status).toBe(302);
    const answer = await boundedFetch(`${url}document`, OPTIONS);
    expect([answer.status, answer.headers.get('content-type'), await answer.json()]).toEqual([
      200,
      'application/json',
      { a: 1 },
    ]);
  });

  it('end where the answer does not', async () => {
    const url = await serve((_request, response) => {
      const chunk = 'x'.repeat(64 * 1024);
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    await expect(boundedFetch(url, OPTIONS)).rejects.toThrow('the answer is longer than 1048576 bytes');
  });

  it('end with the signal of who waits, also once the head is there', async () => {
    const headSent = Promise.withResolvers<void>();
    const url = await serve((_request, response) => {
      response.writeHead(200).write('{');
      headSent.resolve();
    });
    const stopping = new AbortController();
    const answer = boundedFetch(url, { ...OPTIONS, signal: stopping.signal });
    await headSent.promise;
    stopping.abort(new Error('too late'));
    await expect(answer).rejects.toThrow('too late');
  });
});
