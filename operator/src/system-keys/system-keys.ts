import { hkdfSync } from 'node:crypto';
import { generateKeyValue, keyValueSchema } from '@wherry/core/crypto/key-value.ts';
import { generateSetupToken } from '@wherry/core/crypto/setup-token.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { confidentialValues, ENCRYPTED_KINDS } from '@wherry/core/confidential/confidential-fields.ts';
import {
  keysJsonSchema,
  newKey,
  newKeySecret,
  parseKeysJson,
  parseKeySecret,
  serializeKeysJson,
  type KeysPlace,
} from '@wherry/service/keys/keys-json.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { ensureObject } from './ensure-object.ts';
import type { SystemObjects } from '@wherry/core/ports/system-objects.ts';

interface SystemKeysOptions {
  /** Of the system's namespace. */
  secrets: SystemObjects;
  store: Pick<ResourceStore, 'list'>;
  /** Prefix of the Secrets' names. */
  name: string;
  systemNamespace: string;
  clock: Pick<Clock, 'now'>;
}

/** The keys of an installation that are created once. */
export interface SystemKeys {
  /** 32 bytes: of the digests by which routers know API keys. */
  digestKey: Uint8Array;
  /**
   * 32 bytes: of the tokens by which runtimes know calls of routers. They are permanent, because a runtime gets its
   * token once.
   */
  invocationKey: Uint8Array;
}

const RESTORE = 'restore it from a backup';

/**
 * Creates the encryption keys, the digest key, the value of the first management key and the setup token as Secrets
 * where they are missing, checks the first, and reads the second. Existing ones are never replaced.
 * @throws StartError for encryption keys that are missing while objects are encrypted, and for any that are invalid
 * (E4)
 */
export async function ensureSystemKeys(options: SystemKeysOptions): Promise<SystemKeys> {
  const { clock } = options;
  const keys = await ensureKey(options, { secret: 'encryption-keys', entry: 'keys.json' }, async () => {
    await refuseToHideLoss(options);
    return serializeKeysJson({ format: 1, current: 1, keys: [newKey(1, clock.now())] });
  });
  parseKeysJson(keys.text, keysJsonSchema, keys.place);
  const digest = await ensureKey(options, { secret: 'digest-key', entry: 'key' }, newKeySecret);
  const digestKey = parseKeySecret(digest.text, digest.place);
  const management = await ensureKey(options, { secret: 'management-key', entry: 'key' }, generateKeyValue);
  const checked = keyValueSchema.safeParse(management.text.trim());
  if (!checked.success)
    throw new StartError(
      `${management.place.name} ${checked.error.issues[0]?.message ?? 'is not valid'}: write another value there, or delete the Secret`,
    );
  await ensureKey(options, { secret: 'setup-token', entry: 'token' }, generateSetupToken);
  return {
    digestKey,
    invocationKey: Buffer.from(hkdfSync('sha256', digestKey, '', 'wherry invocation tokens', 32)),
  };
}

async function ensureKey(
  { secrets, name, systemNamespace }: SystemKeysOptions,
  { secret, entry }: { secret: string; entry: string },
  make: () => string | Promise<string>,
): Promise<{ text: string; place: KeysPlace }> {
  const secretName = `${name}-${secret}`;
  const data = await ensureObject(
    secrets,
    secretName,
    async (before) => before ?? { [entry]: Buffer.from(await make()) },
  );
  const place = { name: `The Secret ${systemNamespace}/${secretName} (${entry})`, remedy: RESTORE };
  return { text: data[entry]?.toString('utf8') ?? '', place };
}

/** New keys would hide that the values of all these objects are lost. */
async function refuseToHideLoss({ store, name, systemNamespace }: SystemKeysOptions): Promise<void> {
  for (const kind of ENCRYPTED_KINDS) {
    const { items } = await store.list(kind);
    const sealed = items.find((item) => confidentialValues(item).some(({ value }) => value.encrypted !== undefined));
    if (sealed === undefined) continue;
    throw new StartError(
      `The Secret ${systemNamespace}/${name}-encryption-keys is missing, and ${kind} ${sealed.metadata.namespace}/${sealed.metadata.name} cannot be read without it: ` +
        `${RESTORE} (to start over, delete every object with an encrypted value).`,
    );
  }
}
