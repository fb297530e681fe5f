import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@wherry/testing/eventually.ts';
import { KEY, rawRequest, startTestManager, type RawAnswer, type TestManager } from '../testing/test-manager.ts';

const MIB = 1024 * 1024;

describe('M10: JSON bodies that are slow', () => {
  let manager: TestManager;
  const open: ClientRequest[] = [];
  beforeEach(async () => void (manager = await startTestManager()));
  afterEach(async () => {
    for (const sent of open.splice(0)) sent.destroy();
    await manager.stop();
  });

  /** A request with a valid key whose body has begun and does not end. */
  function begin(method: string, path: string, type: string): Promise<IncomingMessage> {
    const { port } = manager.server.address() as AddressInfo;
    const headers = { 'x-api-key': KEY, 'content-type': type, 'content-length': String(MIB) };
    const sent = request({ host: '127.0.0.1', port, method, path, headers });
    open.push(sent);
    const answered = once(sent, 'response').then(([answer]) => answer as IncomingMessage);
    // The connection of one that is open at the end is cut.
    answered.catch(() => undefined);
    sent.on('error', () => undefined);
    sent.write('{');
    return answered;
  }
  const create = (path: string, body: object): Promise<RawAnswer> =>
    rawRequest(
      manager,
      { method: 'POST', path, headers: { 'content-type': 'application/json' } },
      JSON.stringify(body),
    );

  it('block others for 30 s at most: then they get 408, and their connection ends; an upload may be slower', async () => {
    expect((await create('/api/sources', { name: 'app', type: 'manual' })).status).toBe(201);
    const idle = manager.clock.pending;
    const upload = begin('PUT', '/api/sources/app/files/a.ts', 'application/octet-stream');
    const slow = Array.from({ length: 32 }, () => begin('POST', '/api/key-groups', 'application/json'));
    await eventually(() => expect(manager.clock.pending).toBe(idle + 32));
    expect((await create('/api/key-groups', { name: 'team' })).status).toBe(503);
    await manager.clock.advance(29_999);
    expect((await create('/api/key-groups', { name: 'team' })).status).toBe(503);
    await manager.clock.advance(1);
    for (const answer of await Promise.all(slow)) {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      const body = JSON.parse(Buffer.concat(chunks).toString()) as object;
      expect([answer.statusCode, answer.headers.connection, body]).toEqual([
        408,
        'close',
        {
          code: 'request_timeout',
          error: 'The JSON body did not arrive within 30 s.',
          requestId: answer.headers['x-request-id'],
        },
      ]);
      await eventually(() => expect(answer.socket.closed).toBe(true));
    }
    expect((await create('/api/key-groups', { name: 'team' })).status).toBe(201);
    open[0]?.end('x'.repeat(MIB - 1));
    expect((await upload).statusCode).toBe(201);
    expect(manager.clock.pending).toBe(idle);
  });
});
