import type { RuntimeSecret } from '@wherry/core/feed/messages.ts';
import { environmentOf } from './environment-of.ts';
import { SecretStore } from './secret-store.ts';

const secret = (
  name: string,
  value: string,
  scope: RuntimeSecret['scope'],
  owner: string | null = null,
): RuntimeSecret => ({ name, value, scope, owner });
const KEY = { id: 'k1', name: 'mobile', groupId: 'g1', groupName: 'apps' };
const ALL = [
  secret('A', 'global', 'global'),
  secret('A', 'function', 'function'),
  secret('A', 'group', 'group', 'g1'),
  secret('A', 'other group', 'group', 'g2'),
  secret('A', 'key', 'key', 'k1'),
  secret('G', 'of the group', 'group', 'g1'),
];

function storeOf(secrets: RuntimeSecret[]): { store: SecretStore; read: string[] } {
  const read: string[] = [];
  const store = new SecretStore((value) => read.push(value));
  store.replace(secrets);
  return { store, read };
}

describe('S5: SecretStore', () => {
  it('resolves key over group over function over global', () => {
    const found: (string | undefined)[] = [];
    for (let rest = ALL; rest.length > 0;) {
      const value = storeOf(rest).store.view(KEY).get('A');
      found.push(value);
      rest = rest.filter((entry) => entry.value !== value && value !== undefined);
      if (value === undefined) break;
    }
    expect(found).toEqual(['key', 'group', 'function', 'global', undefined]);
  });

  it.each([
    ['global', 'global'],
    ['function', 'function'],
    ['group', 'group'],
    ['key', 'key'],
  ] as const)('gives just the scope %s when it is requested', (scope, value) => {
    expect(storeOf(ALL).store.view(KEY).get('A', scope)).toBe(value);
  });

  it('gives nothing of a group or a key to a call without one', () => {
    const view = storeOf(ALL).store.view(undefined);
    expect([
      view.get('A'),
      view.get('A', 'group'),
      view.get('A', 'key'),
      view.get('G'),
      view.complete('G'),
      view.names(),
    ]).toEqual(['function', undefined, undefined, undefined, undefined, ['A']]);
  });

  it('refuses a scope that is none, by name', () => {
    expect(() =>
      storeOf(ALL)
        .store.view(KEY)
        .get('A', 'user' as 'key'),
    ).toThrow('key, group, function, global, not user');
  });

  it('reports what was read, and nothing before', () => {
    const { store, read } = storeOf(ALL);
    const view = store.view(KEY);
    view.has('A');
    view.names();
    expect(read).toEqual([]);
    view.complete('A');
    expect(read).toEqual(['key', 'group', 'function', 'global']);
  });

  it('keeps a running call on what it began with', () => {
    const { store } = storeOf(ALL);
    const view = store.view(undefined);
    store.replace([secret('A', 'new', 'global')]);
    expect([view.get('A'), store.view(undefined).get('A')]).toEqual(['function', 'new']);
  });
});

describe('environmentOf', () => {
  it('is a read-only object of the resolved secrets that reads one only on demand', () => {
    const { store, read } = storeOf(ALL);
    const env = environmentOf(store.view(KEY));
    expect([Object.keys(env), 'G' in env, 'X' in env, env.X, 'toString' in env]).toEqual([
      ['A', 'G'],
      true,
      false,
      undefined,
      false,
    ]);
    expect(env.A).toBe('key');
    expect({ ...env }).toEqual({ A: 'key', G: 'of the group' });
    expect(() => {
      env.A = 'other';
    }).toThrow(TypeError);
    expect(read).toContain('of the group');
  });
});
