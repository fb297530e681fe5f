import type { SecretView } from './secret-store.ts';

/** The `env` of the fetch form: the call's resolved secrets, each read only on demand. Read-only. */
export function environmentOf(secrets: SecretView): Record<string, string> {
  return new Proxy<Record<string, string>>(Object.create(null) as Record<string, string>, {
    get: (_target, name) => (typeof name === 'string' ? secrets.get(name) : undefined),
    has: (_target, name) => typeof name === 'string' && secrets.has(name),
    ownKeys: () => secrets.names(),
    getOwnPropertyDescriptor: (_target, name) =>
      typeof name === 'string' && secrets.has(name)
        ? { value: secrets.get(name), enumerable: true, configurable: true, writable: false }
        : undefined,
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  });
}
