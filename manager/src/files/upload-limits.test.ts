import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import supertest from 'supertest';
import { pack } from 'tar-stream';
import { KEY, rawRequest, startTestManager, type TestManager } from '../testing/test-manager.ts';

const LIMIT = 1024;

describe('the size limit of files', () => {
  let manager: TestManager;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const files = async (): Promise<unknown[]> =>
    ((await api().get('/api/sources/app/files')).body as { files: unknown[] }).files;

  beforeEach(async () => {
    manager = await startTestManager();
    await api().post('/api/sources').send({ name: 'app', type: 'manual' }).expect(201);
    await api()
      .put('/api/settings')
      .send({ settings: { 'files.max-size-bytes': String(LIMIT) } })
      .expect(200);
  });
  afterEach(() => manager.stop());

  const part = (size: number, filename: boolean): string =>
    `--XX\r\nContent-Disposition: form-data; name="file"${filename ? '; filename="a"' : ''}\r\n\r\n${'x'.repeat(size)}\r\n--XX--\r\n`;
  const forms: Record<string, (size: number) => [Record<string, string>, string]> = {
    raw: (size) => [{ 'content-type': 'text/plain' }, 'x'.repeat(size)],
    'raw, chunked': (size) => [{ 'content-type': 'text/plain', 'transfer-encoding': 'chunked' }, 'x'.repeat(size)],
    'multipart file': (size) => [{ 'content-type': 'multipart/form-data; boundary=XX' }, part(size, true)],
    'multipart field': (size) => [{ 'content-type': 'multipart/form-data; boundary=XX' }, part(size, false)],
    JSON: (size) => [{ 'content-type': 'application/json' }, JSON.stringify({ content: 'x'.repeat(size) })],
    'JSON base64': (size) => [
      { 'content-type': 'application/json' },
      JSON.stringify({ content: Buffer.alloc(size, 'x').toString('base64'), encoding: 'base64' }),
    ],
  };

  it.each(
    Object.keys(forms).flatMap((form) => [
      [form, LIMIT, 201] as const,
      [form, LIMIT + 1, 413] as const,
      [form, 5_000_000, 413] as const,
    ]),
  )('holds for %s of %i bytes: %i (M8)', async (form, size, status) => {
    const [headers, body] = forms[form]!(size);
    const answer = await rawRequest(manager, { method: 'PUT', path: '/api/sources/app/files/a.ts', headers }, body);
    expect(answer.status).toBe(status);
    expect(await files()).toHaveLength(status === 201 ? 1 : 0);
    if (status === 413) expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'too_large' });
  });

  it.each([
    ['JSON', 413],
    ['JSON base64', 413],
  ])('holds for %s whose body is within its own limit (M8)', async (form, status) => {
    const [headers, body] = forms[form]!(40 * LIMIT);
    const answer = await rawRequest(manager, { method: 'PUT', path: '/api/sources/app/files/a.ts', headers }, body);
    expect([answer.status, JSON.parse(answer.body.toString())]).toMatchObject([
      status,
      { error: expect.stringContaining('files.max-size-bytes') as string },
    ]);
    expect(await files()).toHaveLength(0);
  });

  it.each([
    ['application/x-tar', 413],
    ['application/gzip', 413],
  ])('holds for each file in a tree of %s', async (type, status) => {
    const tar = pack();
    tar.entry({ name: 'small' }, 'x');
    tar.entry({ name: 'big' }, 'x'.repeat(LIMIT + 1));
    tar.finalize();
    const chunks: Buffer[] = [];
    for await (const chunk of tar) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const body = type === 'application/gzip' ? gzipSync(bytes) : bytes;
    const answer = await rawRequest(
      manager,
      { method: 'PUT', path: '/api/sources/app/tree', headers: { 'content-type': type } },
      body,
    );
    expect(answer.status).toBe(status);
    expect(await files()).toEqual([]);
  });

  it.each(['text/plain', 'multipart/form-data; boundary=XX', 'application/json', 'application/x-tar'])(
    'keeps nothing of an upload of %s that breaks off (F2)',
    async (type) => {
      const { port } = manager.server.address() as AddressInfo;
      const path = type === 'application/x-tar' ? '/api/sources/app/tree' : '/api/sources/app/files/a.ts';
      const headers = { 'x-api-key': KEY, 'content-type': type, 'content-length': '900' };
      const sent = request({ host: '127.0.0.1', port, method: 'PUT', path, headers });
      sent.on('error', () => undefined);
      const arrived = once(manager.server, 'request');
      sent.write('--XX\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nxxx');
      const [incoming] = (await arrived) as [IncomingMessage];
      // Not by `once`: the break comes as an error first.
      const closed = new Promise((resolve) => incoming.on('close', resolve));
      sent.destroy();
      await closed;
      await manager.clock.idle();
      expect(await files()).toEqual([]);
      expect(manager.logger.of('error')).toEqual([]);
      expect(
        (await manager.audited()).filter(({ action, result }) => /^file|files$/.test(action) && result === 'ok'),
      ).toEqual([]);
    },
  );
});
