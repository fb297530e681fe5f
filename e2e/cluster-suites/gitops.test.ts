import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testCluster } from '../cluster/test-cluster.ts';
import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { FunctionObjects } from '../testing/function-objects.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';

/*
 * docs/guides/kubernetes-gitops.md, step by step, with the files of examples/gitops as they are.
 */

const ROOT = path.join(import.meta.dirname, '../..');
const EXAMPLE = path.join(ROOT, 'examples/gitops');
const SECRET = 'shop-keys';
const [FIRST_KEY, SECOND_KEY] = ['the-first-value-of-acme-s-key', 'the-second-value-of-acme-s-key'];
const READY = ['--for=condition=Ready', '--timeout=60s'];
const WITHIN_MS = 1000;

const objects = new FunctionObjects(testCluster());
let platform: Platform;
let api: ApiClient;

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
}, 60_000);

afterAll(async () => {
  await objects.kubectl('delete', '-k', EXAMPLE, '--ignore-not-found');
  await objects.delete('secret', SECRET);
  await api?.expect('PUT', '/api/settings', {
    settings: { 'log.level': null, 'log.trimming.retention-seconds': null },
  });
  await platform?.dispose();
}, 30_000);

const order = (key: string): Promise<Answer> =>
  send(`${platform.functionUrl}/run/orders/7`, { headers: { 'x-api-key': key } });
/** Refused for its key: with 429 where there were many bad ones before. */
const isRefused = ({ status }: Answer): boolean => status === 401 || status === 429;
const readyOf = async (
  kind: string,
  name: string,
): Promise<{ status: string; reason: string; message: string } | undefined> =>
  (await objects.get(kind, name)).status?.conditions?.find(({ type }: { type: string }) => type === 'Ready');
const says = (kind: string, name: string, reason: string, ...words: string[]): Promise<void> =>
  eventually(async () => {
    const condition = await readyOf(kind, name);
    expect(condition).toMatchObject({ reason });
    for (const word of words) expect(condition?.message).toContain(word);
  });

/** How long after kubectl was through it took until `holds`. */
async function tookUntil(through: number, holds: () => Promise<boolean>): Promise<number> {
  await eventually(async () => {
    if (!(await holds())) throw new Error('it is not active yet');
  }, 10_000);
  return Math.round(machineTime() - through);
}

/** As the guide has it: all files of the source in one step. */
async function upload(...tar: string[]): Promise<void> {
  const body = execFileSync('tar', ['-cz', '-C', EXAMPLE, ...tar], { cwd: tmpdir() });
  const init = { body, headers: { 'content-type': 'application/gzip' } };
  expect((await api.expect('PUT', '/api/sources/shop/tree', undefined, init)).body).toEqual({
    success: true,
    files: 1,
  });
}

describe('the GitOps example', () => {
  it('is what the guide lists, all six kinds', () => {
    const guide = readFileSync(path.join(ROOT, 'docs/guides/kubernetes-gitops.md'), 'utf8');
    const rows = [...guide.matchAll(/^\| \[([\w-]+\.yaml)\]\(\S+\) \| (\w+) \|/gm)].map(([, file = '', kind]) => [
      file,
      kind,
    ]);
    const applied = [...readFileSync(path.join(EXAMPLE, 'kustomization.yaml'), 'utf8').matchAll(/^ {2}- (\S+)$/gm)].map(
      ([, file]) => file,
    );
    expect(rows.map(([file]) => file)).toEqual(applied);
    expect(
      rows.map(([file = '']) => /^kind: (\w+)$/m.exec(readFileSync(path.join(EXAMPLE, file), 'utf8'))?.[1]),
    ).toEqual(rows.map(([, kind]) => kind));
    expect(new Set(rows.map(([, kind]) => kind)).size).toBe(6);
  });

  it('is applied before its Secret and its code: what is missing stands in the conditions, by name', async () => {
    await objects.kubectl('apply', '-k', EXAMPLE);
    await says('ApiKey', 'partners-acme', 'SecretNotFound', SECRET, 'spec.value');
    await says('FunctionSecret', 'orders-payment-token', 'SecretNotFound', SECRET);
    await says('Function', 'orders', 'HandlerNotFound', 'orders.ts', 'shop');
    expect((await order(FIRST_KEY)).status).toBe(401);
    const shown = (await api.expect('GET', '/api/settings')).body.settings as { name: string; value: string }[];
    expect(shown.find(({ name }) => name === 'log.level')?.value).toBe('warn');
  });

  it('names the key that its Secret does not have', async () => {
    await objects.secret(SECRET, { acme: FIRST_KEY });
    await says('FunctionSecret', 'orders-payment-token', 'SecretKeyNotFound', SECRET, 'payment-token');
    await objects.kubectl('wait', 'ApiKey/partners-acme', ...READY);
  });

  it('answers through the router once the code is uploaded, for those with the key of the Secret alone', async () => {
    await upload('orders.ts');
    await objects.kubectl('wait', 'fn/orders', ...READY);
    expect((await order(FIRST_KEY)).body).toEqual({ order: '7', payable: false });
    expect((await order(SECOND_KEY)).status).toBe(401);
    const through = await objects.secret(SECRET, { acme: FIRST_KEY, 'payment-token': 'sandbox-1234' });
    const took = await tookUntil(through, async () => (await order(FIRST_KEY)).body.payable === true);
    expect(took).toBeLessThan(WITHIN_MS);
    await objects.kubectl('wait', 'fsec/orders-payment-token', ...READY);
    expect((await objects.get('fn', 'orders')).status).toMatchObject({ replicas: 2, readyReplicas: 2 });
  });

  it('keeps its code when it is applied again: the head of the source is not in git', async () => {
    const head = async (): Promise<string> => (await objects.get('csrc', 'shop')).spec.manual.tree;
    const before = await head();
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    expect(await objects.kubectl('apply', '-k', EXAMPLE)).not.toMatch(/created/);
    expect(await head()).toBe(before);
    expect((await order(FIRST_KEY)).status).toBe(200);
  });
});

describe('a changed Secret', () => {
  const secret = (acme: string, token: string): Promise<number> =>
    objects.secret(SECRET, { acme, 'payment-token': token });

  it('is active at every router within a second: the new value of a key, and not the old one', async () => {
    for (const [now, old] of [
      [SECOND_KEY, FIRST_KEY],
      [FIRST_KEY, SECOND_KEY],
    ] as const) {
      const through = await secret(now, 'sandbox-1234');
      // Several, so that each of the routers is called.
      const holds = async (): Promise<boolean> => {
        const taken = await Promise.all([now, now, now, now].map(order));
        return (
          taken.every(({ status }) => status === 200) &&
          (await Promise.all([old, old, old, old].map(order))).every(isRefused)
        );
      };
      expect(await tookUntil(through, holds)).toBeLessThan(WITHIN_MS);
    }
  });

  it('is active in every instance within a second', async () => {
    const shown = 'export default async (c, ctx) => c.json({ token: await ctx.getSecret("PAYMENT_TOKEN") });';
    await api.upload('shop', 'orders.ts', shown);
    await eventually(async () => expect((await order(FIRST_KEY)).body).toEqual({ token: 'sandbox-1234' }));
    for (const token of ['sandbox-5678', 'sandbox-9012']) {
      const through = await secret(FIRST_KEY, token);
      const holds = async (): Promise<boolean> => {
        const tokens = await Promise.all(
          Array.from({ length: 8 }, async () => (await order(FIRST_KEY)).body.token as string),
        );
        return tokens.every((each) => each === token);
      };
      expect(await tookUntil(through, holds)).toBeLessThan(WITHIN_MS);
    }
  });

  it('that is deleted takes the key away within a second, and its name stands in the conditions', async () => {
    await objects.delete('secret', SECRET);
    const took = await tookUntil(machineTime(), async () => isRefused(await order(FIRST_KEY)));
    expect(took).toBeLessThan(WITHIN_MS);
    await says('ApiKey', 'partners-acme', 'SecretNotFound', SECRET);
    await secret(FIRST_KEY, 'sandbox-1234');
    await objects.kubectl('wait', 'ApiKey/partners-acme', 'fsec/orders-payment-token', ...READY);
  });

  it('is changed where it is, not over REST; and no value of it is in any object, event or output', async () => {
    const refused = await api.request('PUT', '/api/keys/partners-acme', { value: 'another-value-of-the-key' });
    expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining(`Secret ${SECRET}, key acme`)]);
    const everything = [await objects.kubectl('get', 'wherry,events', '-o', 'yaml'), await platform.output()].join(
      '\n',
    );
    for (const value of [FIRST_KEY, SECOND_KEY, 'sandbox-1234', 'sandbox-9012'])
      expect(everything).not.toContain(value);
  });
});

describe('taking the example away', () => {
  it('takes all of it away, and leaves the API as it was', async () => {
    // The secret of a function may be gone with it before kubectl comes to delete it.
    await objects.kubectl('delete', '-k', EXAMPLE, '--ignore-not-found');
    await eventually(async () => expect((await order(FIRST_KEY)).status).toBe(404), WITHIN_MS);
    await eventually(async () => expect(await objects.namedAfter('orders')).toEqual([]));
    expect((await api.request('GET', '/api/sources/shop')).status).toBe(404);
    await api.expect('PUT', '/api/settings', { settings: { 'log.level': 'info' } });
  });
});
