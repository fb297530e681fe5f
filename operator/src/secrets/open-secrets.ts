import type { RuntimeSecret } from '@wherry/core/feed/messages.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import type { FunctionResource, FunctionSecretResource } from '@wherry/core/resources/kinds.ts';
import { secretOwner, type Caches } from '../informers/caches.ts';
import { holdersOf } from './secret-holder.ts';

/** Decrypts secrets, each value once. */
export interface SecretOpener {
  /**
   * Every secret that the function may see (S5), sorted; those that cannot be read, or whose place another one has, are
   * left out: their own reconcile reports them.
   */
  secretsOf(fn: FunctionResource): RuntimeSecret[];
}

/**
 * @param referencedSecrets the Secrets that the reader follows.
 * @param keyRing the reader's keys: what could not be decrypted before may be after a change.
 */
export function createSecretOpener(
  caches: Caches,
  reader: ConfidentialReader,
  referencedSecrets: ReferencedSecrets,
  keyRing: Pick<KeyRing, 'onChange'>,
): SecretOpener {
  const opened = new Map<string, { secret: FunctionSecretResource; value: string | undefined }>();
  caches.secrets.onChange((name) => void opened.delete(name));
  referencedSecrets.onChange((secret) =>
    caches.secretsByReference.names(secret).forEach((name) => opened.delete(name)),
  );

  keyRing.onChange(() => {
    for (const [name, { value }] of opened) if (value === undefined) opened.delete(name);
  });

  function valueOf(secret: FunctionSecretResource): string | undefined {
    const known = opened.get(secret.metadata.name);
    if (known?.secret === secret) return known.value;
    const { value } = reader.read(secret, 'spec.value');
    opened.set(secret.metadata.name, { secret, value });
    return value;
  }

  function runtimeSecret(secret: FunctionSecretResource): RuntimeSecret[] {
    const value = valueOf(secret);
    if (value === undefined) return [];
    const { spec } = secret;
    return [{ name: spec.name, value, scope: spec.scope, owner: spec.keyGroup ?? spec.apiKey ?? null }];
  }

  return {
    secretsOf(fn) {
      const seen = ownersSeenBy(caches, fn)
        .flatMap((owner) => [...caches.secretsByOwner.names(owner)])
        .flatMap((name) => caches.secrets.get(name) ?? []);
      return holdersOf(caches, seen)
        .flatMap(runtimeSecret)
        .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
    },
  };
}

/** Global, its own, those of its key groups and of their keys. */
function ownersSeenBy(caches: Caches, fn: FunctionResource): string[] {
  const groups = fn.spec.keyGroups ?? [];
  return [
    secretOwner({ scope: 'global' }),
    secretOwner({ scope: 'function', function: fn.metadata.name }),
    ...groups.map((keyGroup) => secretOwner({ scope: 'group', keyGroup })),
    ...groups
      .flatMap((group) => [...caches.keysByGroup.names(group)])
      .map((apiKey) => secretOwner({ scope: 'key', apiKey })),
  ];
}

const sortKey = (secret: RuntimeSecret): string => `${secret.scope}/${secret.owner ?? ''}/${secret.name}`;
