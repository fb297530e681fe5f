import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { request, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createCachedContentStore } from '@wherry/content/cached-content-store.ts';
import { createFolderContentStore } from '@wherry/content/folder-content-store.ts';
import { createHttpContentStore } from '@wherry/content/http-content-store.ts';
import { contentStoreContract, type ContentStoreHarness } from '@wherry/testing/contracts/content-store-contract.ts';
import { logEntry } from '@wherry/testing/log-entry.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeKeyLedger } from '@wherry/testing/fakes/fake-key-ledger.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetricsSink, FakeTelemetry } from '@wherry/testing/fakes/fake-telemetry.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { DomainError } from '@wherry/core/errors.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { TestAuthority } from '@wherry/service/testing/test-certificates.ts';
import type { TlsMaterial } from '@wherry/service/tls/tls-files.ts';
import { buildInternalListener } from './internal-listener.ts';
import { listenInternal } from './listen-internal.ts';

const authority = new TestAuthority();
const otherAuthority = new TestAuthority('another authority');
const serverMaterial = authority.issue('manager', ['127.0.0.1', 'localhost']);
const operator = authority.issue('operator');
afterAll(() => {
  authority.remove();
  otherAuthority.remove();
});

/** The real listener over a folder, with what its clients need. */
async function start() {
  const root = await mkdtemp(path.join(tmpdir(), 'wherry-internal-'));
  const clock = new FakeClock();
  const logger = new FakeLogger();
  const telemetry = new FakeTelemetry();
  const keyLedger = new FakeKeyLedger();
  const executions = new FakeMetricsSink();
  const content = await createFolderContentStore({ directory: path.join(root, 'content'), clock, logger });
  const callbacks = new Set<(material: TlsMaterial) => void>();
  let material = serverMaterial;
  const tls = {
    current: () => material,
    onChange(callback: (material: TlsMaterial) => void) {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
  };
  const listening = await listenInternal({
    listener: buildInternalListener({ content, telemetry, keyLedger, executions, logger }),
    tls,
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    logger,
  });
  const url = `https://127.0.0.1:${listening.port}`;
  const clients: { stop(): Promise<void> }[] = [];
  return {
    root,
    clock,
    logger,
    telemetry,
    keyLedger,
    executions,
    content,
    url,
    port: listening.port,
    rotate(next: TlsMaterial) {
      material = next;
      for (const callback of callbacks) callback(next);
    },
    client(current: () => TlsMaterial = () => operator, target = url): ContentStore & { stop(): Promise<void> } {
      const store = createHttpContentStore({ url: target, tls: { current }, logger });
      clients.push(store);
      return store;
    },
    corrupt: (digest: string) =>
      writeFile(path.join(root, 'content', 'blobs', digest.slice(0, 2), digest.slice(2)), 'not what was put'),
    halfWritten: () => readdir(path.join(root, 'content', 'tmp')),
    async stop() {
      await Promise.all(clients.map((client) => client.stop()));
      await listening.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

type World = Awaited<ReturnType<typeof start>>;

describe('the http ContentStore over the internal listener', () => {
  contentStoreContract(async (): Promise<ContentStoreHarness> => {
    const world = await start();
    return { store: world.client(), clock: world.clock, corrupt: world.corrupt, stop: world.stop };
  });
});

describe('the cached ContentStore over the http one', () => {
  contentStoreContract(async (): Promise<ContentStoreHarness> => {
    const world = await start();
    const directory = path.join(world.root, 'cache');
    const store = await createCachedContentStore({
      inner: world.client(),
      directory,
      maxBytes: 64 * 1024 * 1024,
      clock: world.clock,
      logger: world.logger,
    });
    return {
      store,
      clock: world.clock,
      async corrupt(digest) {
        await world.corrupt(digest);
        await writeFile(path.join(directory, 'blobs', digest), 'not what was put');
      },
      stop: world.stop,
    };
  });
});

let world: World;
const entry = (message: string): LogEntry => logEntry({ message });

interface Answer {
  status: number;
  body: string;
}

/** One request, as an attacker makes it: with any certificate, and any target. */
function call(options: RequestOptions & { with?: Partial<TlsMaterial>; body?: string | Buffer }): Promise<Answer> {
  const { with: material = operator, body, ...rest } = options;
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: world.port, agent: false, ca: authority.ca, ...material, ...rest },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('error', reject).on('end', () => resolve({ status: answer.statusCode ?? 0, body: text }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const post = (target: string, body: unknown, type = 'application/json'): Promise<Answer> =>
  call({
    method: 'POST',
    path: target,
    headers: { 'content-type': type },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('the internal listener', () => {
  beforeEach(async () => {
    world = await start();
  });
  afterEach(() => world.stop());

  describe('who may use it', () => {
    it('answers the operator', async () => {
      expect(await call({ method: 'PUT', path: '/content', body: 'x' })).toMatchObject({ status: 201 });
    });

    it.each([
      ['no certificate', { cert: undefined, key: undefined }],
      ["a certificate of another authority in the operator's name", otherAuthority.issue('operator')],
    ])('gives whoever has %s not one byte', async (_whose, material) => {
      const { ca: _ca, ...proof } = material as TlsMaterial;
      await expect(call({ path: `/content/${sha256('x')}`, with: { ca: authority.ca, ...proof } })).rejects.toThrow(
        /alert|ECONNRESET|socket hang up|EPIPE/,
      );
    });

    it.each(['router', 'manager', 'Operator', 'operator2'])(
      'refuses a certificate of its own authority for %s with 403, everything alike',
      async (name) => {
        const material = authority.issue(name);
        const { digest } = await world.content.put(Buffer.from('mine'));
        const calls = [
          call({ path: `/content/${digest}`, with: material }),
          call({ method: 'PUT', path: '/content', body: 'x', with: material }),
          call({
            method: 'POST',
            path: '/telemetry',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify([entry('forged')]),
            with: material,
          }),
          call({ path: '/nothing', with: material }),
        ];
        for (const answer of await Promise.all(calls)) {
          expect(answer).toMatchObject({ status: 403, body: expect.stringContaining('forbidden') });
          expect(answer.body).not.toContain('mine');
        }
        expect([await world.content.has(sha256('x')), world.telemetry.entries]).toEqual([false, []]);
      },
    );

    it("takes the next connection's certificate by the authority that is active then", async () => {
      const store = world.client();
      const { digest } = await store.put(Buffer.from('before'));
      world.rotate({ ...serverMaterial, ca: otherAuthority.ca });
      await expect(world.client().get(digest)).rejects.toMatchObject({ code: 'unavailable' });
      const renewed = otherAuthority.issue('operator');
      expect((await world.client(() => ({ ...renewed, ca: authority.ca })).get(digest)).toString()).toBe('before');
    });

    it('is known to its clients by its certificate: another server in its place gets nothing', async () => {
      const store = world.client(() => ({ ...operator, ca: otherAuthority.ca }));
      await expect(store.put(Buffer.from('secret'))).rejects.toMatchObject({ code: 'unavailable' });
      expect(await world.content.has(sha256('secret'))).toBe(false);
    });
  });

  describe('what it takes', () => {
    it.each([
      '/',
      '/content',
      '/content/',
      '/content/../content/collect',
      '/content/..%2f..%2fkeys.json',
      '/content//etc/passwd',
      `/content/${'A'.repeat(64)}`,
      `/content/${'a'.repeat(63)}`,
      `/content/${'a'.repeat(64)}/..`,
      `/content/${'a'.repeat(64)}?x`,
      `/content/${'a'.repeat(64)}`,
      '/telemetry.db',
      '/%63ontent',
      'https://other/content',
      '/__proto__',
    ])('F1: has nothing at GET %s', async (target) => {
      const answer = await call({ path: target });
      expect(answer.status).toBe(404);
      expect(answer.body).not.toMatch(/tmp|node:|\bat /);
    });

    it('keeps nothing of a body that does not match its announced digest', async () => {
      const headers = { 'x-content-sha256': sha256('announced') };
      expect(await call({ method: 'PUT', path: '/content', headers, body: 'another' })).toMatchObject({ status: 400 });
      expect(
        await call({ method: 'PUT', path: '/content', headers: { 'x-content-sha256': '../x' }, body: 'another' }),
      ).toMatchObject({ status: 400 });
      expect([await world.content.has(sha256('another')), await world.content.has(sha256('announced'))]).toEqual([
        false,
        false,
      ]);
      expect(await world.halfWritten()).toEqual([]);
    });

    it('takes down when keys were last used, and nothing of a report that is not valid', async () => {
      expect((await post('/keys/uses', { first: 5, second: 6.5 })).status).toBe(204);
      for (const bad of [{ third: -1 }, { third: 'now' }, { 'not a name': 1 }, [1], 'x'])
        expect((await post('/keys/uses', bad)).status).toBe(400);
      expect(Object.fromEntries(world.keyLedger.uses)).toEqual({ first: 5, second: 6.5 });
    });

    it('refuses a body over its limit by its header, and a compressed one', async () => {
      const headers = { 'content-length': String(257 * 1024 * 1024) };
      expect((await tooLong(headers)).status).toBe(413);
      expect(
        (await call({ method: 'PUT', path: '/content', headers: { 'content-encoding': 'gzip' }, body: 'x' })).status,
      ).toBe(415);
    });

    it('keeps nothing of an upload that breaks off', async () => {
      const sent = request({
        host: '127.0.0.1',
        port: world.port,
        agent: false,
        ...operator,
        method: 'PUT',
        path: '/content',
        headers: { 'content-length': '1000' },
      });
      sent.on('error', () => undefined);
      sent.write('half');
      await until(async () => (await world.halfWritten()).length === 1);
      sent.destroy();
      await until(async () => (await world.halfWritten()).length === 0);
      expect(await world.content.has(sha256('half'))).toBe(false);
    });

    it.each([
      ['no grace', { referenced: [], graceMs: 0 }],
      ['no list', { graceMs: 3_600_000 }],
      ['what is no digest', { referenced: ['../x'], graceMs: 3_600_000 }],
      ['a list cut short', '{"referenced":["'],
    ])('removes nothing for a collection with %s', async (_what, body) => {
      const { digest } = await world.content.put(Buffer.from('kept'));
      await world.clock.advance(365 * 86_400_000);
      expect(await post('/content/collect', body)).toMatchObject({ status: 400 });
      expect(await world.content.has(digest)).toBe(true);
    });

    it('spares what was uploaded a moment ago, though nothing refers to it yet', async () => {
      const { digest } = await world.content.put(Buffer.from('uploaded over REST'));
      expect(await post('/content/collect', { referenced: [], graceMs: 3_600_000 })).toEqual({
        status: 200,
        body: '{"removed":0}',
      });
      expect(await world.content.has(digest)).toBe(true);
    });
  });

  describe('log entries', () => {
    it.each([
      ['JSON', 'application/json', (entries: unknown[]) => JSON.stringify(entries)],
      [
        'NDJSON',
        'application/x-ndjson',
        (entries: unknown[]) => entries.map((one) => `${JSON.stringify(one)}\n`).join(''),
      ],
    ])('are taken as %s; those that are none are left out and counted', async (_format, type, write) => {
      const bad = [
        { ...entry('level'), level: 'fatal' },
        { ...entry('time'), timestamp: -1 },
        { ...entry('whose'), functionName: '' },
        null,
        'text',
      ];
      const answer = await post('/telemetry', write([entry('a'), ...bad, { ...entry('b'), more: 1 }]), type);
      expect(answer).toEqual({ status: 202, body: '{"accepted":2,"refused":5}' });
      expect(world.telemetry.entries).toEqual([entry('a'), entry('b')]);
    });

    it.each([
      ['too many', 413, JSON.stringify(Array.from({ length: 10_001 }, () => 0)), 'application/json'],
      ['too much', 413, `["${'x'.repeat(17 * 1024 * 1024)}"]`, 'application/json'],
      ['no list', 400, '{}', 'application/json'],
      ['no JSON', 400, '[', 'application/json'],
      ['a form', 415, 'a=b', 'application/x-www-form-urlencoded'],
    ])('are refused when there is %s (%i)', async (_what, status, body, type) => {
      expect((await post('/telemetry', body, type)).status).toBe(status);
      expect(world.telemetry.entries).toEqual([]);
    });
  });

  describe('metrics', () => {
    const batch = {
      sender: '5f0a0a3e-0000-4000-8000-000000000001',
      sequence: 1,
      metrics: [{ functionName: 'f', minute: 0, count: 1, errors: 0, sumUs: 1, maxUs: 1, bins: [0, 1] }],
    };

    it('are stored before they are answered', async () => {
      expect(await post('/telemetry/metrics', batch)).toMatchObject({ status: 200 });
      expect(world.executions.batches).toEqual([batch]);
    });

    it('are answered with 503 where they cannot be stored', async () => {
      world.executions.problem = new DomainError('unavailable', 'The metrics database is not available.');
      expect(await post('/telemetry/metrics', batch)).toMatchObject({ status: 503 });
    });

    it.each([
      ['sequence', { ...batch, sequence: 0 }],
      ['sender', { ...batch, sender: 'me' }],
      ['metrics.0.functionName', { ...batch, metrics: [{ ...batch.metrics[0]!, functionName: '' }] }],
      ['metrics.0.count', { ...batch, metrics: [{ ...batch.metrics[0]!, count: -1 }] }],
      ['metrics', { ...batch, metrics: Array.from({ length: 501 }, () => batch.metrics[0]!) }],
    ])('are refused for their %s', async (path, refused) => {
      const { status, body } = await post('/telemetry/metrics', refused);
      expect([status, JSON.parse(body)]).toMatchObject([400, { code: 'validation_failed', details: [{ path }] }]);
      expect(world.executions.batches).toEqual([]);
    });
  });

  it('logs a fault of its own, and shows nothing of it to the caller', async () => {
    const { digest } = await world.content.put(Buffer.from('x'));
    await rm(path.join(world.root, 'content'), { recursive: true });
    await writeFile(path.join(world.root, 'content'), 'no folder');
    const answer = await call({ path: `/content/${digest}` });
    expect(answer.status).toBe(500);
    expect(answer.body).not.toMatch(/ENOTDIR|tmp|content/);
    expect(world.logger.of('error')).toMatchObject([{ fields: { err: expect.objectContaining({ code: 'ENOTDIR' }) } }]);
  });

  it('is unavailable to its clients when it is gone', async () => {
    const gone = world.client(undefined, 'https://127.0.0.1:1');
    await expect(gone.get(sha256('x'))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(gone.put(randomBytes(10))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(gone.has(sha256('x'))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(gone.collect(new Set(), 3_600_000)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

/** Announces a body and sends none of it. */
function tooLong(headers: Record<string, string>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: world.port, agent: false, ...operator, method: 'PUT', path: '/content', headers },
      (answer) => {
        answer.resume().on('end', () => resolve({ status: answer.statusCode ?? 0, body: '' }));
        answer.on('error', reject);
        answer.once('end', () => sent.destroy());
      },
    );
    sent.on('error', reject);
    sent.flushHeaders();
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = machineTime() + 5000;
  while (!(await holds())) {
    if (machineTime() > deadline) throw new Error('it did not come to hold');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
