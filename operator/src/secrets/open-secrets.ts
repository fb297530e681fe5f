import { isEnvelopeError } from '@wherry/core/crypto/envelope-error.ts';
import type { RuntimeSecret } from '@wherry/core/feed/messages.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import { openConfidential } from '@wherry/core/resources/confidential-fields.ts';
import type { FunctionResource, FunctionSecretResource } from '@wherry/core/resources/kinds.ts';
import { secretOwner, type Caches } from '../caches/caches.ts';

/** Opens secrets, each value once. */
export interface SecretOpener {
  /** Every secret that the function may see (S5), sorted; those that do not open are left out. */
  secretsOf(fn: FunctionResource): RuntimeSecret[];
}

export function createSecretOpener(caches: Caches, keyRing: KeyRing): SecretOpener {
  const opened = new Map<string, { secret: FunctionSecretResource; value: string | undefined }>();
  caches.secrets.onChange((name) => void opened.delete(name));

  function valueOf(secret: FunctionSecretResource): string | undefined {
    const known = opened.get(secret.metadata.name);
    if (known?.secret === secret) return known.value;
    const value = tryOpen(keyRing, secret);
    opened.set(secret.metadata.name, { secret, value });
    return value;
  }

  function runtimeSecret(name: string): RuntimeSecret[] {
    const secret = caches.secrets.get(name);
    const value = secret === undefined || secret.metadata.deletionTimestamp !== undefined ? undefined : valueOf(secret);
    if (secret === undefined || value === undefined) return [];
    const { spec } = secret;
    return [{ name: spec.name, value, scope: spec.scope, owner: spec.keyGroup ?? spec.apiKey ?? null }];
  }

  return {
    secretsOf: (fn) =>
      ownersSeenBy(caches, fn)
        .flatMap((owner) => [...caches.secretsByOwner.names(owner)])
        .flatMap(runtimeSecret)
        .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1)),
  };
}

/** Global, its own, those of its key groups and of their keys. */
function ownersSeenBy(caches: Caches, fn: FunctionResource): string[] {
  const groups = fn.spec.keyGroups ?? [];
  return [
    secretOwner({ scope: 'global' }),
    secretOwner({ scope: 'function', function: fn.metadata.name }),
    ...groups.map((keyGroup) => secretOwner({ scope: 'group', keyGroup })),
    ...groups.flatMap((group) => [...caches.keysByGroup.names(group)]).map((apiKey) => secretOwner({ scope: 'key', apiKey })),
  ];
}

function tryOpen(keyRing: KeyRing, secret: FunctionSecretResource): string | undefined {
  try {
    return openConfidential(keyRing, secret, 'spec.value');
  } catch (error) {
    // Its own reconcile says so.
    if (isEnvelopeError(error)) return undefined;
    throw error;
  }
}

const sortKey = (secret: RuntimeSecret): string => `${secret.scope}/${secret.owner ?? ''}/${secret.name}`;
