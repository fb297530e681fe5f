import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { MAIN, startService, type Service } from '../testing/embedded-service.ts';

/*
 * The whole service on a disk that becomes full and has space again.
 */

const MIB = 1024 * 1024;
const DISK = 32 * MIB;
/** The disk is the service's own: it goes with it. */
const ON_OWN_DISK = `mount -t tmpfs -o size=${DISK} none "$0"; exec "$@"`;
const PRINTED = 4;
/** Of each call: what it prints, its start and its end. */
const ENTRIES = PRINTED + 2;
const talks = (answer: string): string => `
export default (c) => {
  for (let line = 0; line < ${PRINTED}; line += 1) console.log('x'.repeat(32 * 1024));
  return c.text('${answer} ' + process.pid);
};`;

const rootIt = process.getuid?.() === 0 ? it : it.skip;

describe('a full disk', () => {
  let folder: string;
  let service: Service;
  let api: ApiClient;
  let calls = 0;
  const created: string[] = [];

  const start = async (): Promise<void> => {
    const args = ['--mount', 'sh', '-ec', ON_OWN_DISK, folder, process.execPath, MAIN];
    service = await startService({ dataDirectory: folder, command: { program: 'unshare', args, folder } });
    api = new ApiClient(service.managementUrl, service.managementKey!);
  };
  const call = async (): Promise<string> => {
    const { status, text } = await send(`${service.functionUrl}/run/talks`);
    calls += 1;
    expect([status, text]).toEqual([200, expect.any(String)]);
    return text;
  };
  const create = async (): Promise<Answer> => {
    const name = `SECRET_${created.length}`;
    const answer = await api.request('POST', '/api/secrets', { name, value: 'x'.repeat(60 * 1024), scope: 'global' });
    if (answer.status === 201) created.push(name);
    return answer;
  };
  const secrets = async (): Promise<string[]> =>
    (await api.expect('GET', '/api/secrets?scope=global')).body.secrets.map(({ name }: { name: string }) => name);
  const stored = async (): Promise<number> =>
    (await api.expect('GET', '/api/logs?limit=1000')).body.data.logs.length as number;
  const lost = async (): Promise<number> => {
    const url = /^ {2}Metrics:\s+(\S+)$/m.exec(service.output())?.[1] ?? '';
    return Number(/^wherry_log_entries_lost_total (\d+)$/m.exec((await send(url)).text)?.[1]);
  };

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wherry-full-disk-'));
  });
  afterAll(async () => {
    await service?.dispose();
    await rm(folder, { recursive: true });
  }, 30_000);

  rootIt(
    'FT9: stops no call and no reader, refuses changes, and counts the log entries that are lost; with space, all goes on',
    async () => {
      await start();
      const sourceId = await api.source('disk', { 'talks.js': talks('one') });
      await api.readyFunction({ name: 'Talks', handler: 'disk/talks.js', route: '/talks' });
      const answer = await call();
      expect((await create()).status).toBe(201);

      const filler = path.join(`/proc/${service.process.pid}/root`, folder, 'filler');
      await expect(writeFile(filler, Buffer.alloc(DISK))).rejects.toMatchObject({ code: 'ENOSPC' });
      // What the databases have on the disk already may take some more.
      const refused = await eventually(async () => {
        expect(await call()).toBe(answer);
        expect(await lost()).toBeGreaterThan(0);
        const reply = await create();
        expect(reply.status).toBe(503);
        return reply;
      });
      const file = { body: talks('two').padEnd(MIB), headers: { 'content-type': 'application/octet-stream' } };
      const upload = await api.request('PUT', `/api/sources/${sourceId}/files/talks.js`, undefined, file);
      for (const { status, headers, body } of [refused, upload])
        expect([status, body.code, headers.has('retry-after')]).toEqual([503, 'unavailable', true]);
      expect(await secrets()).toEqual(expect.arrayContaining(created));

      await rm(filler);
      await eventually(async () => expect((await create()).status).toBe(201));
      expect(await secrets()).toEqual(expect.arrayContaining(created));
      await eventually(async () => expect((await stored()) + (await lost())).toBe(calls * ENTRIES));
      const before = await lost();
      expect(await call()).toBe(answer);
      await eventually(async () => expect((await stored()) + before).toBe(calls * ENTRIES));
      await api.upload(sourceId, 'talks.js', talks('two'));
      await eventually(async () => expect(await call()).toMatch(/^two /));
    },
    60_000,
  );
});
