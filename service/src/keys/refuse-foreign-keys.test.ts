import { sealConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import { setConditions } from '@wherry/core/resources/conditions.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import { testKeyRing } from '@wherry/testing/test-key-ring.ts';
import { refuseForeignKeys } from './refuse-foreign-keys.ts';

const PLACE = { name: 'The key file /data/keys.json', remedy: 'restore it from a backup' };
const REFUSAL =
  'The key file /data/keys.json is of another installation or older than the data, of which it decrypts nothing (2 objects tried, FunctionSecret one first): restore it from a backup';

let store: FakeResourceStore;
beforeEach(() => {
  store = new FakeResourceStore();
});

const create = (name: string, encrypted: string): Promise<unknown> =>
  store.create({ kind: 'FunctionSecret', metadata: { name }, spec: { name, scope: 'global', value: { encrypted } } });
const seal = (name: string, ring: KeyRing, namespace = store.namespace): string =>
  sealConfidential(ring, { kind: 'FunctionSecret', metadata: { namespace, name } }, 'spec.value', 'a value')
    .encrypted ?? '';
/** The version 1 of another installation: testKeyRing makes every key from its version alone. */
const elsewhere = (name: string): string => seal(name, testKeyRing(1), 'elsewhere');
const start = (...versions: number[]): Promise<void> => refuseForeignKeys(store, testKeyRing(...versions), PLACE);

describe('FT12: the keys of a start', () => {
  it('are refused where they decrypt nothing: those of another installation, and those from before a rotation', async () => {
    await create('one', elsewhere('one'));
    await create('two', seal('two', testKeyRing(2)));
    await expect(start(1)).rejects.toMatchObject({ name: 'StartError', message: REFUSAL });
  });

  it.each([
    ['with which nothing is encrypted yet', () => Promise.resolve()],
    [
      'of which a retired one is lost (E6)',
      async () => {
        await create('old', seal('old', testKeyRing(1)));
        await create('new', seal('new', testKeyRing(2)));
      },
    ],
    [
      'while values are damaged or made by a newer version: no key decrypts those',
      async () => {
        await create('damaged', 'wherry1.nonsense');
        await create('newer', 'wherry2.AAAA');
      },
    ],
    [
      'while the only value is one that did not decrypt before either (K5)',
      async () => {
        await create('broken', elsewhere('broken'));
        const broken = await store.get('FunctionSecret', 'broken');
        if (broken === undefined) throw new Error('it is gone');
        const message = 'The encrypted value was changed.';
        const conditions = setConditions(
          [],
          [{ type: 'Degraded', status: 'True', reason: 'DecryptionFailed', message }],
          { generation: 1, now: 0 },
        );
        await store.updateStatus({ ...broken, status: { ...broken.status, conditions } });
      },
    ],
  ])('are accepted %s', async (_when, prepare) => {
    await prepare();
    await expect(start(2, 3)).resolves.toBeUndefined();
  });

  it('are accepted at every step of a rotation', async () => {
    await create('one', seal('one', testKeyRing(1)));
    await expect(start(1, 2)).resolves.toBeUndefined();
    await create('two', seal('two', testKeyRing(2)));
    await expect(start(2, 1)).resolves.toBeUndefined();
    await store.delete('FunctionSecret', 'one');
    await expect(start(1, 2)).resolves.toBeUndefined();
  });
});
