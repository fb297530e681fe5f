import { fc } from '@wherry/testing/properties.ts';
import supertest from 'supertest';
import { DomainError } from '@wherry/core/errors.ts';
import { KEY, rawRequest, startTestManager, type RawAnswer, type TestManager } from '../testing/test-manager.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const RAW = { 'content-type': 'application/octet-stream' };

describe('code files', () => {
  let manager: TestManager;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const call = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body: string | Uint8Array = '',
  ): Promise<RawAnswer> => rawRequest(manager, { method, path: `/api/sources/app/files/${path}`, headers }, body);
  const json = (answer: RawAnswer): unknown => JSON.parse(answer.body.toString());
  const paths = async (): Promise<string[]> =>
    ((await api().get('/api/sources/app/files').expect(200)).body as { files: { path: string }[] }).files.map(
      ({ path }) => path,
    );

  beforeEach(async () => {
    manager = await startTestManager();
    await api().post('/api/sources').send({ name: 'app', type: 'manual' }).expect(201);
  });
  afterEach(() => manager.stop());

  const form = (name: string, disposition: string, content: string): [Record<string, string>, string] => [
    { 'content-type': 'multipart/form-data; boundary=XX' },
    `--XX\r\nContent-Disposition: form-data; name="other"\r\n\r\nignored\r\n--XX\r\nContent-Disposition: form-data; name="${name}"${disposition}\r\n\r\n${content}\r\n--XX--\r\n`,
  ];

  it.each<[string, Record<string, string>, string | Uint8Array, string]>([
    ['JSON', JSON_TYPE, JSON.stringify({ content: 'héllo' }), 'héllo'],
    ['JSON utf-8', JSON_TYPE, JSON.stringify({ content: 'héllo', encoding: 'utf-8' }), 'héllo'],
    [
      'JSON base64',
      JSON_TYPE,
      JSON.stringify({ content: Buffer.from('héllo').toString('base64'), encoding: 'base64' }),
      'héllo',
    ],
    [
      'JSON base64, its encoding first',
      JSON_TYPE,
      JSON.stringify({ encoding: 'base64', content: Buffer.from('héllo').toString('base64') }),
      'héllo',
    ],
    ['JSON text that is base64 too', JSON_TYPE, JSON.stringify({ content: 'YWJj' }), 'YWJj'],
    ['multipart file', ...form('file', '; filename="x.ts"', 'héllo'), 'héllo'],
    ['multipart content', ...form('content', '', 'héllo'), 'héllo'],
    ['octet-stream', RAW, 'héllo', 'héllo'],
    ['any other type', { 'content-type': 'text/typescript' }, 'héllo', 'héllo'],
    ['no type', {}, 'héllo', 'héllo'],
    ['nothing', RAW, '', ''],
  ])('are uploaded as %s', async (_name, headers, body, content) => {
    const put = await call('PUT', 'src/a.ts', headers, body);
    expect([put.status, json(put)]).toEqual([201, { success: true, path: 'src/a.ts', created: true }]);
    const got = await call('GET', 'src/a.ts');
    expect(got.body.toString()).toBe(content);
    expect(got.headers.etag).toBe(put.headers.etag);
    const again = await call('PUT', 'src/a.ts', RAW, 'other');
    expect([again.status, json(again)]).toEqual([200, { success: true, path: 'src/a.ts', created: false }]);
    expect(again.headers.etag).not.toBe(put.headers.etag);
  });

  it.each<[string, Record<string, string>, string | Uint8Array]>([
    ['JSON without content', JSON_TYPE, '{}'],
    ['JSON with its content twice', JSON_TYPE, '{"content":"x","content":"y"}'],
    ['JSON with a key that is no field', JSON_TYPE, '{"content":"x","__proto__":{}}'],
    ['JSON cut short', JSON_TYPE, '{"content":"x'],
    ['JSON that nests too deep', JSON_TYPE, `{"content":"x","encoding":${'['.repeat(40)}${']'.repeat(40)}}`],
    ['JSON that is not UTF-8', JSON_TYPE, Buffer.from('{"content":"\xff"}', 'latin1')],
    ['nothing as JSON', JSON_TYPE, ''],
    ['JSON with an unknown field', JSON_TYPE, '{"content":"x","mode":1}'],
    ['an unknown encoding', JSON_TYPE, '{"content":"x","encoding":"hex"}'],
    ['bad base64', JSON_TYPE, '{"content":"a*b=","encoding":"base64"}'],
    ['cut base64', JSON_TYPE, '{"content":"YWJ","encoding":"base64"}'],
    ['a lone surrogate', JSON_TYPE, '{"content":"\\ud800"}'],
    ['a form without its part', ...form('data', '; filename="x"', 'x')],
    ['a form cut short', form('file', '; filename="x"', 'x')[0], form('file', '; filename="x"', 'x')[1].slice(0, -9)],
    ['a form without a boundary', { 'content-type': 'multipart/form-data' }, 'x'],
    ['a form that is none', { 'content-type': 'multipart/form-data; boundary=XX' }, 'x'],
  ])('are refused as %s, and the old version stays', async (_name, headers, body) => {
    await call('PUT', 'a.ts', RAW, 'old');
    expect((await call('PUT', 'a.ts', headers, body)).status).toBe(400);
    expect((await call('GET', 'a.ts')).body.toString()).toBe('old');
  });

  it.each([
    'a/../../b',
    '../b',
    '..%2fb',
    '%2e%2e/b',
    '%2E%2E%2Fb',
    './b',
    '%2e/b',
    '/b',
    '%2Fb',
    'a//b',
    'a/',
    '',
    'a%00b',
    'a%5Cb',
    'a%C2%9Bb',
    'a%E2%80%AEb',
    'a\\b',
    'C:/b',
    'c%3A%2Fb',
    '.git/config',
    '.GIT/config',
    'a/.git/hooks/b',
    'a%0Ab',
    'a%ff',
    '%',
    'x'.repeat(1025),
  ])('are refused at the path %j (F1)', async (path) => {
    for (const method of ['PUT', 'POST', 'DELETE', 'GET'])
      expect([method, (await call(method, path, RAW)).status]).toEqual([method, 400]);
    expect(await paths()).toEqual([]);
  });

  it('have one path however its slashes are written, decoded once', async () => {
    await call('PUT', 'a%2Fb.ts', RAW, '1');
    await call('PUT', 'a/%252F.ts', RAW, '2');
    await call('PUT', encodeURIComponent('grüße/x y+z?.ts'), RAW, '3');
    expect(await paths()).toEqual(['a/%2F.ts', 'a/b.ts', 'grüße/x y+z?.ts']);
    expect((await call('GET', 'a/b.ts?x=../')).status).toBe(400);
    expect((await call('GET', 'a/b.ts')).body.toString()).toBe('1');
    expect((await call('GET', 'a%2f%252F.ts')).body.toString()).toBe('2');
  });

  it('round-trip any content under any good path', async () => {
    const segment = fc.stringMatching(/^[A-Za-z0-9_ äö%+?&#=-]{1,12}$/);
    const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `d/${segments.join('/')}.bin`);
    await fc.assert(
      fc.asyncProperty(path, fc.uint8Array({ maxLength: 200 }), async (name, content) => {
        const target = name.split('/').map(encodeURIComponent).join('/');
        const put = await call('PUT', target, RAW, content);
        expect([200, 201]).toContain(put.status);
        expect((await call('GET', target)).body.equals(content)).toBe(true);
        const envelope = json(await call('GET', target, { accept: 'application/json' })) as {
          content: string;
          encoding: BufferEncoding;
        };
        expect(Buffer.from(envelope.content, envelope.encoding).equals(content)).toBe(true);
        await call('DELETE', target);
      }),
      { numRuns: 40 },
    );
  });

  it('are given as inert bytes with a type by extension (M6)', async () => {
    await call('PUT', 'page.html', RAW, '<script>alert(1)</script>');
    const { headers } = await call('GET', 'page.html');
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-disposition': 'attachment',
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
    });
    expect((await call('GET', 'page.html', { 'if-none-match': headers.etag! })).status).toBe(304);
    const head = await call('HEAD', 'page.html');
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, '25', 0]);
    expect((await call('GET', 'nothing.html')).status).toBe(404);
  });

  it.each([
    ['*/*', false],
    ['text/html,application/xhtml+xml,*/*;q=0.8', false],
    ['application/*', false],
    ['application/json;q=0', false],
    ['text/plain, application/json;q=0.5', false],
    ['application/json', true],
    ['application/json, text/plain, */*', true],
  ])('answer Accept: %s with an envelope: %s', async (accept, enveloped) => {
    await call('PUT', 'a.ts', RAW, 'x');
    const answer = await call('GET', 'a.ts', { accept });
    expect(answer.headers['content-type']).toBe(
      enveloped ? 'application/json; charset=utf-8' : 'text/typescript; charset=utf-8',
    );
    if (enveloped) {
      expect(json(answer)).toEqual({
        path: 'a.ts',
        content: 'x',
        contentType: 'text/typescript; charset=utf-8',
        size: 1,
        encoding: 'utf-8',
      });
    }
  });

  it('cannot be where a folder is, nor under another file', async () => {
    await call('PUT', 'a/b.ts', RAW, 'x');
    expect((await call('PUT', 'a', RAW, 'x')).status).toBe(409);
    expect((await call('PUT', 'a/b.ts/c', RAW, 'x')).status).toBe(409);
    expect((await call('GET', 'a')).status).toBe(404);
    expect((await call('DELETE', 'a')).status).toBe(404);
  });

  it('are deleted, and created by POST only once', async () => {
    expect((await call('POST', 'a.ts', RAW, 'x')).status).toBe(201);
    expect((await call('POST', 'a.ts', RAW, 'x')).status).toBe(409);
    const gone = await call('DELETE', 'a.ts');
    expect([gone.status, json(gone)]).toEqual([200, { success: true, path: 'a.ts', deleted: true }]);
    expect((await call('DELETE', 'a.ts')).status).toBe(404);
    expect((await api().get('/api/sources/app')).body).toMatchObject({
      revision: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('honour If-Match and If-None-Match', async () => {
    expect((await call('PUT', 'a.ts', { ...RAW, 'if-match': '*' }, 'x')).status).toBe(412);
    const first = await call('PUT', 'a.ts', { ...RAW, 'if-none-match': '*' }, 'x');
    expect(first.status).toBe(201);
    expect((await call('PUT', 'a.ts', { ...RAW, 'if-none-match': '*' }, 'y')).status).toBe(412);
    expect((await call('PUT', 'a.ts', { ...RAW, 'if-match': '"stale"' }, 'y')).status).toBe(412);
    expect((await call('PUT', 'a.ts', { ...RAW, 'if-match': `W/${first.headers.etag!}` }, 'y')).status).toBe(412);
    const second = await call('PUT', 'a.ts', { ...RAW, 'if-match': `"stale", ${first.headers.etag!}` }, 'y');
    expect(second.status).toBe(200);
    expect((await call('DELETE', 'a.ts', { 'if-match': first.headers.etag! })).status).toBe(412);
    expect((await call('DELETE', 'a.ts', { 'if-match': second.headers.etag! })).status).toBe(200);
  });

  it('judge If-Match when the head moves: of concurrent writers with one tag exactly one wins', async () => {
    const { headers } = await call('PUT', 'a.ts', RAW, 'x');
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        call('PUT', 'a.ts', { ...RAW, 'if-match': headers.etag! }, `version ${index}`),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 412)]);
  });

  it('all land when written at once, each whole (F2)', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `f/${index}.ts`);
    const answers = await Promise.all(names.map((name) => call('PUT', name, RAW, `content of ${name}`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(await paths()).toEqual([...names].sort());
    const versions = Array.from({ length: 10 }, (_, index) => String(index).repeat(50_000));
    await Promise.all(versions.map((version) => call('PUT', 'same.ts', RAW, version)));
    expect(versions).toContain((await call('GET', 'same.ts')).body.toString());
  });

  it('all land when two managers write one source at once: compare-and-swap, no shared lock', async () => {
    const { store, content, ring, keyRing } = manager;
    const other = await startTestManager({ store, content, ring, keyRing });
    const names = Array.from({ length: 20 }, (_, index) => `f/${String(index).padStart(2, '0')}.ts`);
    const answers = await Promise.all(
      names.map((name, index) =>
        rawRequest(
          index % 2 === 0 ? manager : other,
          { method: 'PUT', path: `/api/sources/app/files/${name}`, headers: RAW },
          name,
        ),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(await paths()).toEqual(names);
    await other.stop();
  });

  it('land although others write the source meanwhile, and say so when they cannot', async () => {
    for (let round = 0; round < 5; round += 1) manager.store.failNext('update', new DomainError('conflict', 'stale'));
    expect((await call('PUT', 'a.ts', RAW, 'x')).status).toBe(201);
    manager.content.failPuts(new DomainError('unavailable', 'There is no room.'));
    expect((await call('PUT', 'a.ts', RAW, 'y')).status).toBe(503);
    manager.content.failPuts(undefined);
    expect((await call('GET', 'a.ts')).body.toString()).toBe('x');
  });

  it('uploaded again unchanged make no new revision', async () => {
    await call('PUT', 'a.ts', RAW, 'x');
    const before = (await api().get('/api/sources/app')).body as object;
    manager.clock.jump(5000);
    expect((await call('PUT', 'a.ts', RAW, 'x')).status).toBe(200);
    expect((await api().get('/api/sources/app')).body).toEqual(before);
  });

  it('are not written while the source is not enabled, and need a source', async () => {
    await api().put('/api/sources/app').send({ enabled: false }).expect(200);
    expect((await call('PUT', 'a.ts', RAW, 'x')).status).toBe(403);
    expect(
      (await rawRequest(manager, { method: 'PUT', path: '/api/sources/missing/files/a.ts', headers: RAW }, 'x')).status,
    ).toBe(404);
  });
});
