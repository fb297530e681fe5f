import {
  sealConfidential,
  withConfidential,
  type ConfidentialField,
} from '@wherry/core/confidential/confidential-fields.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Confidential } from '@wherry/core/resources/confidential.ts';
import type { Kind } from '@wherry/core/resources/kinds.ts';
import { testKeyRing } from '@wherry/testing/test-key-ring.ts';
import { conditionOf, TestWorld, type RunningOperator } from '../testing/test-world.ts';

/** A key that this installation does not have. */
const FOREIGN = testKeyRing(9);
const UNREADABLE =
  /^True DecryptionFailed: The encrypted value .* Write spec\.\S+ again, or restore the encryption key\./;
const FIELDS = {
  ApiKey: 'spec.value',
  FunctionSecret: 'spec.value',
  CodeSource: 'spec.sync.webhook.secret',
} as const;
const KINDS = Object.keys(FIELDS) as (keyof typeof FIELDS)[];

let world: TestWorld;
let running: RunningOperator;
beforeEach(async () => {
  world = new TestWorld();
  running = await world.start();
  await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
});
afterEach(() => world.stop());

function sealed<K extends Kind>(kind: K, field: ConfidentialField<K>, keyRing: KeyRing = FOREIGN): Confidential {
  const owner = { kind, metadata: { namespace: world.store.namespace, name: 'one' } };
  return sealConfidential(keyRing, owner, field, 'a-value-of-some-letters');
}

const CREATE = {
  ApiKey: () =>
    world.store.create({
      kind: 'ApiKey',
      metadata: { name: 'one' },
      spec: { keyGroup: 'team', enabled: true, value: sealed('ApiKey', FIELDS.ApiKey) },
    }),
  FunctionSecret: () =>
    world.store.create({
      kind: 'FunctionSecret',
      metadata: { name: 'one' },
      spec: { name: 'A', scope: 'global', value: sealed('FunctionSecret', FIELDS.FunctionSecret) },
    }),
  CodeSource: () =>
    world.store.create({
      kind: 'CodeSource',
      metadata: { name: 'one' },
      spec: {
        type: 'manual',
        enabled: true,
        sync: { intervalSeconds: 0, webhook: { enabled: true, secret: sealed('CodeSource', FIELDS.CodeSource) } },
      },
    }),
};

describe('E6: a value that does not decrypt', () => {
  it.each(KINDS)('makes its %s Degraded, which says what to do, until it is written again', async (kind) => {
    const condition = async (): Promise<string> => conditionOf(await world.get(kind, 'one'), 'Degraded');
    await CREATE[kind]();
    await world.run();
    expect(await condition()).toMatch(UNREADABLE);
    expect(running.metrics.value('undecryptable_values', { kind })).toBe(1);
    const again = sealed<Kind>(kind, FIELDS[kind], world.keyRing);
    await world.store.update(withConfidential<Kind>(await world.get(kind, 'one'), FIELDS[kind], again));
    await world.run();
    expect(await condition()).toBe('none');
    expect(running.metrics.value('undecryptable_values', { kind })).toBe(0);
  });

  it('makes a key Degraded whose Ready has another reason, and one whose previous value it is', async () => {
    await world.createKey('one', 'team', 'wh_first_key_value');
    await world.run();
    expect(conditionOf(await world.get('ApiKey', 'one'), 'Degraded')).toBe('none');
    await world.edit('ApiKey', 'one', {
      enabled: false,
      previousValue: sealed('ApiKey', 'spec.previousValue'),
      previousValueExpiresAt: new Date(world.clock.now() + 60_000).toISOString(),
    });
    await world.run();
    const key = await world.get('ApiKey', 'one');
    expect(conditionOf(key, 'Ready')).toMatch(/^False Disabled: /);
    expect(conditionOf(key, 'Degraded')).toMatch(UNREADABLE);
  });
});
