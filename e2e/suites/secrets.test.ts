import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { followPage } from '../testing/follow-page.ts';
import { blocksOf } from '../testing/page-blocks.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';
import { Shell } from '../testing/shell.ts';

/*
 * Secrets as those see them who write them, over the management API, and those who read them, in handlers.
 */

const WITHIN_MS = 1000;
const SCOPES = ['global', 'function', 'group', 'key'] as const;
type Scope = (typeof SCOPES)[number];

/** Answers with each name's value; `instance` is another one after a restart. */
const READS = `
const instance = Math.random();
export default async (c, ctx) => {
  const names = (c.req.query('names') ?? '').split(',');
  const values = await Promise.all(names.map(async (name) => [name, (await ctx.getSecret(name)) ?? null]));
  return c.json({ instance, values: Object.fromEntries(values) });
};`;

const READS_ALL = `
export default {
  async fetch(request, env, ctx) {
    const scopes = ['global', 'function', 'group', 'key'];
    const byScope = await Promise.all(scopes.map(async (scope) => [scope, await ctx.getSecret('SHARED', scope)]));
    return Response.json({
      env: env.SHARED,
      names: Object.keys(env),
      byScope: Object.fromEntries(byScope),
      complete: await ctx.getCompleteSecret('SHARED'),
    });
  },
};`;

const TALKS = `
export default async (c, ctx) => {
  const secret = await ctx.getSecret('TALKED');
  console.log('a text with ' + secret, { inside: [secret] });
  console.error(new Error('an error with ' + secret));
  process.stdout.write('to stdout ' + secret + '\\n');
  console.log('done');
  throw new Error('thrown with ' + secret);
};`;

/** A value to search for where it must not be. */
const CANARY = 'CANARY-of-a-secret-7d1f';

interface Caller {
  groupId: string;
  keyId: string;
  value: string;
}

let platform: Platform;
let api: ApiClient;
let guarded: string;
let open: string;
let first: Caller;
let second: Caller;
/** Another key of the first one's group. */
let colleague: Caller;

const run = (path: string, caller?: Caller): Promise<Answer> =>
  send(`${platform.functionUrl}/run${path}`, caller === undefined ? {} : { headers: { 'x-api-key': caller.value } });
const create = async (name: string, scope: Scope, owner: object, value: string): Promise<string> =>
  (await api.expect('POST', '/api/secrets', { name, scope, ...owner, value })).body.id;
const list = async (query = ''): Promise<any[]> => (await api.expect('GET', `/api/secrets${query}`)).body.secrets;

/** What a handler reads. */
async function read(path: string, names: string[], caller?: Caller): Promise<Record<string, string | null>> {
  const answer = await run(`${path}?names=${names.join(',')}`, caller);
  expect(answer.status).toBe(200);
  return answer.body.values;
}

/** Waits until a handler reads it. */
const becomes = (path: string, name: string, value: string | null, caller?: Caller): Promise<void> =>
  eventually(async () => expect((await read(path, [name], caller))[name]).toBe(value), WITHIN_MS);

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
  first = await api.groupWithKey('first-group');
  second = await api.groupWithKey('second-group');
  const { groupId } = first;
  const key = (await api.expect('POST', '/api/keys', { groupId, name: 'colleague' })).body;
  colleague = { groupId, keyId: key.id, value: key.value };
  await api.source('secrets', { 'reads.js': READS, 'reads-all.js': READS_ALL, 'talks.js': TALKS });
  const keys = [first.groupId, second.groupId];
  [guarded, open] = await Promise.all([
    api.readyFunction({ name: 'guarded', handler: 'secrets/reads.js', route: '/guarded', keys }),
    api.readyFunction({ name: 'open', handler: 'secrets/reads.js', route: '/open' }),
  ]);
}, 90_000);

afterAll(() => platform?.dispose(), 30_000);

describe('a secret', () => {
  /** Every set of scopes that have a value, by the name that has one in each of them. */
  const sets = new Map(
    Array.from({ length: 16 }, (_, bits): [string, Scope[]] => {
      const scopes = SCOPES.filter((_scope, at) => (bits & (1 << at)) !== 0);
      return [['SET', ...scopes].join('_'), scopes];
    }),
  );
  const names = [...sets.keys()];
  const valueOf = (scope: Scope, owner: { functionId?: string }): string => `${scope} ${owner.functionId ?? ''}`;

  it('is that of the key over that of the group, the function and all, for each caller and each set of scopes', async () => {
    const owners: Record<Scope, object[]> = {
      global: [{}],
      function: [{ functionId: guarded }, { functionId: open }],
      group: [{ groupId: first.groupId }],
      key: [{ keyId: first.keyId }],
    };
    const creations = [...sets].flatMap(([name, scopes]) =>
      scopes.flatMap((scope) => owners[scope].map((owner) => create(name, scope, owner, valueOf(scope, owner)))),
    );
    await Promise.all(creations);
    const expected = (functionId: string, visible: Scope[]): Record<string, string | null> =>
      Object.fromEntries(
        [...sets].map(([name, scopes]) => {
          const scope = visible.find((candidate) => scopes.includes(candidate));
          return [name, scope === undefined ? null : valueOf(scope, scope === 'function' ? { functionId } : {})];
        }),
      );
    await eventually(async () => {
      expect(await read('/guarded', names, first)).toEqual(expected(guarded, ['key', 'group', 'function', 'global']));
      expect(await read('/guarded', names, colleague)).toEqual(expected(guarded, ['group', 'function', 'global']));
      expect(await read('/guarded', names, second)).toEqual(expected(guarded, ['function', 'global']));
      expect(await read('/open', names)).toEqual(expected(open, ['function', 'global']));
      // An open function authenticates nobody.
      expect(await read('/open', names, first)).toEqual(expected(open, ['function', 'global']));
    }, WITHIN_MS);
    expect((await run('/guarded?names=SET_global')).status).toBe(401);
  }, 60_000);

  it('is read by scope, as a whole and from env, each caller with those of its own key and group', async () => {
    await create('SHARED', 'global', {}, 'of all');
    for (const [caller, word] of [
      [first, 'first'],
      [second, 'second'],
    ] as const) {
      await create('SHARED', 'group', { groupId: caller.groupId }, `of the ${word} group`);
      await create('SHARED', 'key', { keyId: caller.keyId }, `of the ${word} key`);
    }
    const keys = [first.groupId, second.groupId];
    const functionId = await api.readyFunction({ name: 'all', handler: 'secrets/reads-all.js', route: '/all', keys });
    await create('SHARED', 'function', { functionId }, 'of the function');
    for (const [{ groupId, keyId, value }, word] of [
      [first, 'first'],
      [second, 'second'],
    ] as const) {
      const group = { groupId, groupName: groupId };
      await eventually(async () => {
        const { body } = await run('/all', { groupId, keyId, value });
        expect(body).toMatchObject({
          env: `of the ${word} key`,
          names: expect.arrayContaining(['SHARED']),
          byScope: {
            global: 'of all',
            function: 'of the function',
            group: `of the ${word} group`,
            key: `of the ${word} key`,
          },
          complete: {
            global: 'of all',
            function: 'of the function',
            group: { value: `of the ${word} group`, ...group },
            key: { value: `of the ${word} key`, ...group, keyId, keyName: 'first' },
          },
        });
      }, WITHIN_MS);
    }
  }, 60_000);

  it('is active within a second, made, changed and deleted, without a restart of the instance', async () => {
    const instance = async (): Promise<number> => (await run('/guarded?names=X', first)).body.instance;
    const before = await instance();
    const ids = {
      global: await create('CHANGING', 'global', {}, 'global'),
      function: await create('CHANGING', 'function', { functionId: guarded }, 'function'),
      group: await create('CHANGING', 'group', { groupId: first.groupId }, 'group'),
      key: await create('CHANGING', 'key', { keyId: first.keyId }, 'key'),
    };
    await becomes('/guarded', 'CHANGING', 'key', first);
    await api.expect('PUT', `/api/secrets/${ids.key}`, { value: 'another' });
    await becomes('/guarded', 'CHANGING', 'another', first);
    for (const [scope, next] of [
      ['key', 'group'],
      ['group', 'function'],
      ['function', 'global'],
      ['global', null],
    ] as const) {
      await api.expect('DELETE', `/api/secrets/${ids[scope]}`);
      await becomes('/guarded', 'CHANGING', next, first);
    }
    expect(await instance()).toBe(before);
  }, 30_000);

  it('goes with its function, group or key; those that are made again under the name have none of it', async () => {
    const old = await api.groupWithKey('short-lived');
    const functionId = await api.readyFunction({
      name: 'short-lived',
      handler: 'secrets/reads.js',
      route: '/short-lived',
    });
    await create('OWNED', 'function', { functionId }, 'function');
    await create('OWNED', 'group', { groupId: old.groupId }, 'group');
    await create('OWNED', 'key', { keyId: old.keyId }, 'key');
    const scopes = async (): Promise<string[]> => {
      const answer = await api.request('GET', '/api/secrets/by-name/OWNED');
      return answer.status === 404 ? [] : answer.body.secrets.map(({ scope }: { scope: string }) => scope).sort();
    };
    expect(await scopes()).toEqual(['function', 'group', 'key']);
    await api.expect('DELETE', `/api/keys/${old.keyId}`);
    expect(await scopes()).toEqual(['function', 'group']);
    await api.expect('DELETE', `/api/key-groups/${old.groupId}`);
    expect(await scopes()).toEqual(['function']);
    await api.expect('DELETE', `/api/functions/${functionId}`);
    expect(await scopes()).toEqual([]);

    const again = await api.groupWithKey('short-lived');
    expect(again).toMatchObject({ groupId: old.groupId, keyId: old.keyId });
    await api.readyFunction({
      name: 'again',
      handler: 'secrets/reads.js',
      route: '/again',
      keys: [again.groupId],
    });
    await create('NEW', 'group', { groupId: again.groupId }, 'new');
    await becomes('/again', 'NEW', 'new', again);
    expect(await read('/again', ['OWNED', 'NEW'], again)).toEqual({ OWNED: null, NEW: 'new' });
  }, 60_000);

  it('is masked in the logs of the function that reads it, and shown by a list alone that asks for values', async () => {
    const id = await create('TALKED', 'global', {}, CANARY);
    const functionId = await api.readyFunction({ name: 'talks', handler: 'secrets/talks.js', route: '/talks' });
    const answer = await eventually(async () => {
      const failed = await run('/talks');
      expect(failed.status).toBe(500);
      return failed;
    });
    expect(answer.text).not.toContain(CANARY);
    const logs = await eventually(async () => {
      const { text } = await api.expect('GET', `/api/logs?functionId=${functionId}&limit=100`);
      for (const part of ['a text with ***', 'inside', 'an error with ***', 'to stdout ***', 'done', 'thrown with ***'])
        expect(text).toContain(part);
      return text;
    });
    expect(logs).not.toContain(CANARY);
    for (const path of ['', '?includeValues=false', '/by-name/TALKED', `/${id}`])
      expect((await api.expect('GET', `/api/secrets${path}`)).text).not.toContain(CANARY);
    expect((await list('?includeValues=true')).find((secret) => secret.id === id)).toMatchObject({ value: CANARY });
    expect((await api.expect('GET', '/api/audit?limit=1000')).text).not.toContain(CANARY);
    expect(await platform.output()).not.toContain(CANARY);
  }, 60_000);
});

describe('docs/guides/secrets.md', () => {
  it('has commands that work as they stand, and print what it says', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/guides/secrets.md'), 'utf8');
    const folder = await mkdtemp(join(tmpdir(), 'wherry-secrets-'));
    const { PATH = '', HOME = '' } = process.env;
    const shell = new Shell(folder, { PATH, HOME, KEY: platform.managementKey });
    const host = (url: string): string => url.replace(/^https?:\/\//, '');
    const hosts = { functions: host(platform.functionUrl), management: host(platform.managementUrl) };
    const withinMs = platform.startsWithinMs * 3;
    try {
      expect(await followPage(shell, blocksOf(page), { hosts, withinMs })).toBe(3);
    } finally {
      shell.close();
      await rm(folder, { recursive: true, force: true });
    }
  }, 120_000);
});
