import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import supertest from 'supertest';
import { pack } from 'tar-stream';
import { KEY, rawRequest, startTestManager, type TestManager } from '../testing/test-manager.ts';
import { readTreeUpload } from './read-tree-upload.ts';

type Entries = [name: string, bytes: number, pax?: Record<string, string>][];

async function tarOf(entries: Entries): Promise<Buffer> {
  const tar = pack();
  for (const [name, bytes, pax] of entries) {
    if (name.endsWith('/')) tar.entry({ name, type: 'directory' });
    else tar.entry({ name, ...(pax === undefined ? {} : { pax }) }, Buffer.alloc(bytes));
  }
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const form = (parts: [string, number][]): Buffer =>
  Buffer.from(
    `${parts.map(([name, bytes]) => `--X\r\nContent-Disposition: form-data; name="f"; filename="${name}"\r\n\r\n${'x'.repeat(bytes)}\r\n`).join('')}--X--\r\n`,
  );

describe('a tree upload is bounded as it comes (M10)', () => {
  const limits = { entries: 5, bytes: 100_000 };
  const read = async (type: string, body: Uint8Array): Promise<unknown> => {
    const incoming = Object.assign(Readable.from([body], { objectMode: false }).pipe(new PassThrough()), {
      headers: { 'content-type': type },
    });
    const files = await readTreeUpload(
      incoming as unknown as IncomingMessage,
      new FakeContentStore({ clock: new FakeClock() }),
      { limit: 90_000, limits },
    );
    return [...files.keys()];
  };
  const tooLarge = { code: 'too_large' };
  const three: Entries = [
    ['a', 30_000],
    ['b', 30_000],
    ['c', 30_000],
  ];
  const four: Entries = [...three, ['d', 30_000]];
  const folders: Entries = Array.from({ length: 6 }, (_, index) => [`${index}/`, 0]);

  it('of a tar by its bytes, unpacked ones of a compressed tar, and by its entries, folders among them', async () => {
    expect(await read('application/x-tar', await tarOf(three))).toEqual(['a', 'b', 'c']);
    expect(await read('application/gzip', gzipSync(await tarOf(three)))).toEqual(['a', 'b', 'c']);
    const whole = {
      ...tooLarge,
      message: 'The upload exceeds the limits of 5 entries and 100000 bytes, packed or unpacked.',
    };
    await expect(read('application/x-tar', await tarOf(four))).rejects.toMatchObject(whole);
    const bomb = gzipSync(await tarOf(four));
    expect(bomb.length).toBeLessThan(1000);
    await expect(read('application/gzip', bomb)).rejects.toMatchObject(whole);
    await expect(read('application/x-tar', await tarOf(folders))).rejects.toMatchObject(tooLarge);
    await expect(read('application/x-tar', await tarOf([...folders.slice(1), ['a', 1]]))).rejects.toMatchObject(
      tooLarge,
    );
  });

  it('of a form by its bytes and its parts', async () => {
    const type = 'multipart/form-data; boundary=X';
    expect(
      await read(
        type,
        form([
          ['a', 40_000],
          ['b', 40_000],
        ]),
      ),
    ).toEqual(['a', 'b']);
    await expect(
      read(
        type,
        form([
          ['a', 40_000],
          ['b', 40_000],
          ['c', 40_000],
        ]),
      ),
    ).rejects.toMatchObject(tooLarge);
    await expect(read(type, form(Array.from({ length: 6 }, (_, index) => [String(index), 1])))).rejects.toMatchObject(
      tooLarge,
    );
  });

  it('by what is between two entries, which is held in memory: attributes of megabytes, zeros without an end', async () => {
    const wide = { entries: 5, bytes: 50_000_000 };
    const readWide = async (body: Buffer): Promise<unknown> => {
      const incoming = Object.assign(Readable.from(chunksOf(body), { objectMode: false }), {
        headers: { 'content-type': 'application/x-tar' },
      });
      return readTreeUpload(incoming as unknown as IncomingMessage, new FakeContentStore({ clock: new FakeClock() }), {
        limit: 10_000_000,
        limits: wide,
      });
    };
    await expect(
      readWide(
        await tarOf([
          ['a', 1],
          ['b', 1, { comment: 'x'.repeat(4_000_000) }],
        ]),
      ),
    ).rejects.toMatchObject(tooLarge);
    await expect(readWide(Buffer.concat([await tarOf([['a', 1]]), Buffer.alloc(4_000_000)]))).rejects.toMatchObject(
      tooLarge,
    );
    expect(
      await readWide(
        await tarOf([
          ['a', 9_000_000],
          ['b', 9_000_000],
        ]),
      ),
    ).toHaveProperty('size', 2);
  });
});

function* chunksOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += 65_536) yield body.subarray(at, at + 65_536);
}

describe('uploads through the API (M10)', () => {
  let manager: TestManager;
  const open: ClientRequest[] = [];
  const arrived: IncomingMessage[] = [];
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);

  beforeEach(async () => {
    manager = await startTestManager();
    await api().post('/api/sources').send({ name: 'app', type: 'manual' }).expect(201);
  });
  afterEach(async () => {
    for (const sent of open.splice(0)) sent.destroy();
    arrived.splice(0);
    await manager.stop();
  });

  /** An upload that has begun and does not end; resolves once the manager has it. */
  async function begin(type: string, bytes: number): Promise<void> {
    const { port } = manager.server.address() as AddressInfo;
    const headers = { 'x-api-key': KEY, 'content-type': type, 'content-length': String(bytes) };
    const sent = request({ host: '127.0.0.1', port, method: 'PUT', path: '/api/sources/app/files/a.ts', headers });
    sent.on('error', () => undefined);
    open.push(sent);
    const received = once(manager.server, 'request') as Promise<[IncomingMessage]>;
    sent.write('{');
    arrived.push((await received)[0]);
  }

  const put = (type: string, body: string): ReturnType<typeof rawRequest> =>
    rawRequest(
      manager,
      { method: 'PUT', path: '/api/sources/app/files/b.ts', headers: { 'content-type': type } },
      body,
    );

  it('are refused with 503 while 128 others are being read, which keep nobody from changing something else', async () => {
    for (let count = 0; count < 128; count += 1) await begin('application/octet-stream', 1000);
    const refused = await put('application/octet-stream', 'x');
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    await api().post('/api/key-groups').send({ name: 'team' }).expect(201);
    const closed = new Promise((resolve) => arrived[0]?.on('close', resolve));
    open[0]?.destroy();
    await closed;
    await manager.clock.idle();
    expect((await put('application/octet-stream', 'x')).status).toBe(201);
  });

  it.each(['close', 'keep-alive'])(
    'of a compressed tar that unpacks to too much are a 413 that a client reads which sends all of its body first: Connection: %s',
    async (connection) => {
      const bomb = Buffer.concat([gzipSync(Buffer.alloc(4 * 1024 * 1024)), Buffer.alloc(20 * 1024 * 1024, 7)]);
      const { port } = manager.server.address() as AddressInfo;
      const socket = connect(port, '127.0.0.1');
      const closed = new Promise((resolve) => void socket.once('close', resolve));
      socket.on('error', () => undefined);
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const head = [
        'PUT /api/sources/app/tree HTTP/1.1',
        'Host: a',
        `X-API-Key: ${KEY}`,
        'Content-Type: application/gzip',
        `Content-Length: ${bomb.length}`,
        `Connection: ${connection}`,
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      await promisify((done: (error?: Error | null) => void) => socket.write(bomb, done))();
      if (connection === 'keep-alive') {
        await eventually(() => expect(text).toMatch(/\}$/));
        socket.end();
      }
      await closed;
      expect(text).toMatch(/^HTTP\/1\.1 413 /);
      expect(text).toContain('The tar has more than 2097152 bytes between two entries.');
    },
  );

  it('of a tree of more than 500 MiB, or 20,000 entries, are a 413', async () => {
    const path = '/api/sources/app/tree';
    const { port } = manager.server.address() as AddressInfo;
    const headers = {
      'x-api-key': KEY,
      'content-type': 'application/x-tar',
      'content-length': String(500 * 1024 * 1024 + 1),
    };
    const sent = request({ host: '127.0.0.1', port, method: 'PUT', path, headers });
    sent.on('error', () => undefined);
    open.push(sent);
    sent.flushHeaders();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(413);
    answer.resume();
    const folders = await tarOf(Array.from({ length: 20_001 }, (_, index) => [`${index}/`, 0]));
    const many = await rawRequest(
      manager,
      { method: 'PUT', path, headers: { 'content-type': 'application/gzip' } },
      gzipSync(folders),
    );
    expect([many.status, JSON.parse(many.body.toString())]).toMatchObject([413, { code: 'too_large' }]);
  });

  it('of a form with exactly 20,000 files are stored, a few at once', async () => {
    let [open, mostOpen] = [0, 0];
    const put = manager.content.put.bind(manager.content);
    manager.content.put = async (...args) => {
      mostOpen = Math.max(mostOpen, ++open);
      return put(...args).finally(() => open--);
    };
    const target = {
      method: 'PUT',
      path: '/api/sources/app/tree',
      headers: { 'content-type': 'multipart/form-data; boundary=X' },
    };
    const files = Array.from({ length: 20_000 }, (_, index): [string, number] => [`${index % 200}/${index}`, 1]);
    expect((await rawRequest(manager, target, form(files))).status).toBe(200);
    expect(mostOpen).toBeLessThanOrEqual(8);
    expect((await rawRequest(manager, target, form([...files, ['one-more', 1]]))).status).toBe(413);
    const beside = { method: 'PUT', path: '/api/sources/app/files/one-more' };
    expect((await rawRequest(manager, beside, 'x')).status).toBe(413);
  });
});
