import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openConfidential, sealConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import { activate, beginRotation, conclude } from '@wherry/service/keys/ring-transitions.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { openDataDirectory } from './data-directory/open-data-directory.ts';
import { openStores, type Stores } from './open-stores.ts';

const SECRETS = ['one', 'two', 'three'];
const clock = new FakeClock();
const logger = new FakeLogger();

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), 'wherry-restore-'));
});
afterEach(() => rmSync(parent, { recursive: true }));

const folder = (name: string): string => path.join(parent, name);
const keyFile = (name: string): string => path.join(folder(name), 'keys.json');

/** What a start does with the data directory, from taking it to releasing it. */
async function withStores(name: string, work: (stores: Stores) => Promise<void>): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const directory = await openDataDirectory({ path: folder(name), logger });
  parts.defer(() => directory.release());
  const metrics = Promise.resolve(new FakeMetrics());
  await work(await openStores({ ...directory, telemetryBytes: 2 ** 30, clock, logger, metrics }, parts));
}

async function seal({ store, keyRing }: Stores, name: string): Promise<void> {
  const owner = { kind: 'FunctionSecret', metadata: { namespace: store.namespace, name } } as const;
  const value = sealConfidential(keyRing, owner, 'spec.value', `value of ${name}`);
  await store.create({ kind: 'FunctionSecret', metadata: { name }, spec: { name, scope: 'global', value } });
}

const fill = async (stores: Stores): Promise<void> => {
  for (const name of SECRETS) await seal(stores, name);
};

async function expectSecrets({ store, keyRing }: Stores): Promise<void> {
  const { items } = await store.list('FunctionSecret');
  const values = items.map((item) => [item.metadata.name, openConfidential(keyRing, item, 'spec.value')]);
  expect(values.toSorted()).toEqual(SECRETS.map((name) => [name, `value of ${name}`]).toSorted());
}

/** The service refuses to start, in one line that names the file and says what to do, and replaces nothing. */
async function expectRefusal(name: string): Promise<void> {
  const before = readFileSync(keyFile(name), 'utf8');
  const started = withStores(name, async () => undefined);
  await expect(started).rejects.toMatchObject({
    name: 'StartError',
    message: `The key file ${keyFile(name)} is of another installation or older than the data, of which it decrypts nothing (${SECRETS.length} objects tried, FunctionSecret one first): restore it from a backup (to start over, move the whole data directory away)`,
  });
  expect(readFileSync(keyFile(name), 'utf8')).toBe(before);
}

describe('FT12: backup, wipe, restore', () => {
  it('brings every secret back, and with the key file of another installation the service does not start', async () => {
    await withStores('data', fill);
    await withStores('other', (other) => seal(other, 'of-the-other'));
    cpSync(folder('data'), folder('backup'), { recursive: true });
    rmSync(folder('data'), { recursive: true });
    cpSync(folder('backup'), folder('data'), { recursive: true });
    await withStores('data', expectSecrets);
    cpSync(keyFile('other'), keyFile('data'));
    await expectRefusal('data');
    cpSync(keyFile('backup'), keyFile('data'));
    await withStores('data', expectSecrets);
  });

  it('refuses a key file from before the last rotation, and takes one from the middle of it', async () => {
    await withStores('data', async () => undefined);
    cpSync(keyFile('data'), folder('before.json'));
    await withStores('data', async (stores) => {
      await stores.ring.change((state) => beginRotation(state, clock.now()));
      await stores.ring.change((state) => activate(state, clock.now()));
      await fill(stores);
      cpSync(keyFile('data'), folder('middle.json'));
      await stores.ring.change((state) => conclude(state, clock.now(), { processed: 3, total: 3, failed: 0 }));
    });
    cpSync(folder('before.json'), keyFile('data'));
    await expectRefusal('data');
    cpSync(folder('middle.json'), keyFile('data'));
    await withStores('data', expectSecrets);
  });
});
