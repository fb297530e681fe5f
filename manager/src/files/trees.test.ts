import { gunzipSync, gzipSync } from 'node:zlib';
import supertest from 'supertest';
import { extract, pack, type Header } from 'tar-stream';
import { KEY, rawRequest, startTestManager, type RawAnswer, type TestManager } from '../testing/test-manager.ts';

interface Entry {
  name: string;
  type?: NonNullable<Header['type']>;
  mode?: number;
  linkname?: string;
  content?: string;
}

async function tarOf(entries: Entry[]): Promise<Buffer> {
  const tar = pack();
  for (const { content, ...header } of entries) {
    if (content === undefined) tar.entry(header);
    else tar.entry(header, content);
  }
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The tar with other bytes as the size of its first entry, and the checksum that fits. */
function withSize(tar: Buffer, size: string): Buffer {
  const changed = Buffer.from(tar);
  changed.write(size.padEnd(12, '\0'), 124, 12, 'latin1');
  changed.fill(' ', 148, 156);
  const sum = changed.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  changed.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 8, 'latin1');
  return changed;
}

async function entriesOf(tar: Buffer): Promise<{ name: string; mode: number | undefined; content: string }[]> {
  const reader = extract();
  reader.end(tar);
  const entries = [];
  for await (const entry of reader) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    entries.push({ name: entry.header.name, mode: entry.header.mode, content: Buffer.concat(chunks).toString() });
  }
  return entries;
}

describe('whole trees', () => {
  let manager: TestManager;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const send = (method: string, body: Uint8Array, type = 'application/x-tar'): Promise<RawAnswer> =>
    rawRequest(manager, { method, path: '/api/sources/app/tree', headers: { 'content-type': type } }, body);
  const paths = async (): Promise<string[]> =>
    ((await api().get('/api/sources/app/files').expect(200)).body as { files: { path: string }[] }).files.map(
      ({ path }) => path,
    );

  beforeEach(async () => {
    manager = await startTestManager();
    await api().post('/api/sources').send({ name: 'app', type: 'manual' }).expect(201);
    await send(
      'PUT',
      await tarOf([
        { name: 'old.ts', content: 'old' },
        { name: 'lib/a.ts', content: 'a' },
      ]),
    );
  });
  afterEach(() => manager.stop());

  it.each([
    ['application/x-tar', (bytes: Buffer) => bytes],
    ['application/gzip', (bytes: Buffer) => gzipSync(bytes)],
  ])('replace everything as %s, in one step', async (type, encode) => {
    const writes = manager.store.writes;
    const tar = await tarOf([
      { name: './', type: 'directory' },
      { name: './src/', type: 'directory' },
      { name: './src/index.ts', content: 'new' },
      { name: `src/${'long-'.repeat(40)}name.ts`, content: 'pax' },
      { name: 'run.sh', content: '#!', mode: 0o755 },
    ]);
    const answer = await send('PUT', encode(tar), type);
    expect([answer.status, JSON.parse(answer.body.toString())]).toEqual([200, { success: true, files: 3 }]);
    expect(await paths()).toEqual(['run.sh', 'src/index.ts', `src/${'long-'.repeat(40)}name.ts`]);
    expect(manager.store.writes).toBe(writes + 1);
  });

  it('add and replace with POST', async () => {
    const answer = await send(
      'POST',
      await tarOf([
        { name: 'old.ts', content: 'new' },
        { name: 'b.ts', content: 'b' },
      ]),
    );
    expect(JSON.parse(answer.body.toString())).toEqual({ success: true, files: 3 });
    expect(await paths()).toEqual(['b.ts', 'lib/a.ts', 'old.ts']);
    const old = await rawRequest(manager, { method: 'GET', path: '/api/sources/app/files/old.ts' });
    expect(old.body.toString()).toBe('new');
  });

  it('come as a form, each part under its filename', async () => {
    const part = (path: string): string =>
      `--XX\r\nContent-Disposition: form-data; name="f"; filename="${path}"\r\n\r\nx\r\n`;
    const form = (...names: string[]): Buffer => Buffer.from(`${names.map(part).join('')}--XX--\r\n`);
    const type = 'multipart/form-data; boundary=XX';
    const answer = await send('PUT', form('src/x/öne.ts', 'two.ts'), type);
    expect([answer.status, JSON.parse(answer.body.toString())]).toEqual([200, { success: true, files: 2 }]);
    expect(await paths()).toEqual(['src/x/öne.ts', 'two.ts']);
    expect((await send('PUT', form('a.ts', '../x'), type)).status).toBe(400);
    expect((await send('PUT', form(''), type)).status).toBe(400);
    expect(await paths()).toEqual(['src/x/öne.ts', 'two.ts']);
  });

  it('take a folder that has a size for a folder, and refuse a file whose size cannot be read', async () => {
    const folder = await tarOf([
      { name: 'lib/', type: 'directory' },
      { name: 'lib/a.ts', content: 'a' },
    ]);
    expect((await send('PUT', withSize(folder, '00000001750'))).status).toBe(200);
    expect(await paths()).toEqual(['lib/a.ts']);
    const file = await tarOf([{ name: 'b.ts', content: 'b' }]);
    expect((await send('PUT', withSize(file, '\u00c2\u0080'))).status).toBe(400);
    expect(await paths()).toEqual(['lib/a.ts']);
  });

  it('are given back as they were put', async () => {
    await send(
      'PUT',
      await tarOf([
        { name: 'run.sh', content: '#!', mode: 0o755 },
        { name: 'src/ü.ts', content: 'ü' },
      ]),
    );
    const got = await rawRequest(manager, { method: 'GET', path: '/api/sources/app/tree' });
    expect(got.headers).toMatchObject({
      'content-type': 'application/gzip',
      'content-disposition': 'attachment; filename="app.tar.gz"',
    });
    expect(await entriesOf(gunzipSync(got.body))).toEqual([
      { name: 'run.sh', mode: 0o755, content: '#!' },
      { name: 'src/ü.ts', mode: 0o644, content: 'ü' },
    ]);
    const before = (await api().get('/api/sources/app')).body as object;
    manager.clock.jump(1000);
    expect((await send('PUT', got.body, 'application/gzip')).status).toBe(200);
    expect((await api().get('/api/sources/app')).body).toEqual(before);
  });

  it.each<[string, Entry[]]>([
    ['a symbolic link', [{ name: 'l', type: 'symlink', linkname: '/etc/passwd' }]],
    [
      'a hard link',
      [
        { name: 'a', content: 'x' },
        { name: 'l', type: 'link', linkname: 'a' },
      ],
    ],
    ['a device', [{ name: 'd', type: 'character-device' }]],
    ['a fifo', [{ name: 'p', type: 'fifo' }]],
    ['a path outside (F1)', [{ name: '../x', content: 'x' }]],
    ['an absolute path (F1)', [{ name: '/x', content: 'x' }]],
    ['.git (F1)', [{ name: '.git/config', content: 'x' }]],
    ['a direction of text (F1)', [{ name: 'a\u202egnp.ts', content: 'x' }]],
    [
      'a file under a file',
      [
        { name: 'a', content: 'x' },
        { name: 'a/b', content: 'x' },
      ],
    ],
  ])('are refused with %s, and nothing changes', async (_name, entries) => {
    const answer = await send('PUT', await tarOf([{ name: 'good.ts', content: 'x' }, ...entries]));
    expect(answer.status).toBe(400);
    expect(await paths()).toEqual(['lib/a.ts', 'old.ts']);
  });

  it('clash with what is there: 409', async () => {
    expect((await send('POST', await tarOf([{ name: 'lib', content: 'x' }]))).status).toBe(409);
    expect(await paths()).toEqual(['lib/a.ts', 'old.ts']);
  });

  it.each<[string, string, (tar: Buffer) => Uint8Array, number]>([
    ['nothing', 'application/x-tar', () => Buffer.alloc(0), 400],
    ['noise', 'application/x-tar', () => Buffer.alloc(2048, 'noise'), 400],
    ['a cut tar', 'application/x-tar', (tar) => tar.subarray(0, 700), 400],
    ['no gzip', 'application/gzip', (tar) => tar, 400],
    ['a cut gzip', 'application/gzip', (tar) => gzipSync(tar).subarray(0, 60), 400],
    ['a zip', 'application/zip', (tar) => tar, 415],
  ])('are refused as %s', async (_name, type, body, status) => {
    expect((await send('PUT', body(await tarOf([{ name: 'a.ts', content: 'x'.repeat(5000) }])), type)).status).toBe(
      status,
    );
    expect(await paths()).toEqual(['lib/a.ts', 'old.ts']);
  });
});
