import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import {
  keysJsonSchema,
  newKey,
  parseKeysJson,
  serializeKeysJson,
  type KeysJson,
  type VersionedKey,
} from '@wherry/service/keys/keys-json.ts';
import { ensureObject } from '../cluster/ensure-object.ts';
import type { SystemObjects } from '@wherry/core/ports/system-objects.ts';

const DAY_MS = 86_400_000;
/** A key is followed by another one after this time, and is taken for as long again. */
const LIFE_MS = 90 * DAY_MS;
/** How long a new key is known to all operators before tokens are made with it. */
const JOIN_MS = 3_600_000;

interface FeedKeysOptions {
  /** Of the system's namespace. */
  secrets: SystemObjects;
  /** Prefix of the Secret's name. */
  name: string;
  systemNamespace: string;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
}

/** The keys of the tokens by which runtimes prove which function they are of. */
export interface FeedKeys {
  /**
   * Makes the first key, and the next one when it is time; reads what another operator made.
   * @throws DomainError; StartError
   */
  upkeep(): Promise<void>;
  /** New tokens are made with it. After the first `upkeep`. */
  current(): KeyObject;
  /** Tokens of these are taken. */
  accepted(): readonly KeyObject[];
  /** Calls back when `current` is another one. Returns how to stop. */
  onChange(callback: () => void): () => void;
}

export function createFeedKeys(options: FeedKeysOptions): FeedKeys {
  const { secrets, name, systemNamespace, clock, logger } = options;
  const secretName = `${name}-feed-keys`;
  const place = {
    name: `The Secret ${systemNamespace}/${secretName} (keys.json)`,
    remedy: 'delete it to have new keys made; instances then connect again when their tokens are renewed',
  };
  const callbacks = new Set<() => void>();
  let keys: VersionedKey[] = [];
  let current: { version: number; key: KeyObject } | undefined;

  return {
    async upkeep() {
      const now = clock.now();
      const data = await ensureObject(secrets, secretName, (before) => {
        const known =
          before === undefined
            ? undefined
            : parseKeysJson(before['keys.json']?.toString('utf8') ?? '', keysJsonSchema, place);
        const next = nextKeys(known, now);
        if (next === known && before !== undefined) return before;
        logger.info({ version: next.current }, 'a feed key is made');
        return { 'keys.json': Buffer.from(serializeKeysJson(next)) };
      });
      keys = parseKeysJson(data['keys.json']?.toString('utf8') ?? '', keysJsonSchema, place).keys;
      const version = keyInUse(keys, now);
      if (version === undefined || version.version === current?.version) return;
      const isFirst = current === undefined;
      current = { version: version.version, key: keyOf(version) };
      if (!isFirst) for (const callback of callbacks) callback();
    },
    current() {
      if (current === undefined) throw new Error('there is no feed key before the first upkeep');
      return current.key;
    },
    accepted: () => keys.map(keyOf),
    onChange(callback) {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
  };
}

const keyOf = ({ secret }: VersionedKey): KeyObject => createSecretKey(secret, 'base64');

/** The same object while nothing is due; never more than two keys. Pure but for the new key. */
function nextKeys(known: KeysJson | undefined, now: number): KeysJson {
  const newest = known?.keys.find(({ version }) => version === known.current);
  if (known !== undefined && newest !== undefined && now < Date.parse(newest.createdAt) + LIFE_MS) return known;
  const made = newKey((newest?.version ?? 0) + 1, now);
  return { format: 1, current: made.version, keys: newest === undefined ? [made] : [newest, made] };
}

/** The newest that every operator has had time to read; a single one is used at once. */
function keyInUse(keys: VersionedKey[], now: number): VersionedKey | undefined {
  const byAge = keys.toSorted((a, b) => a.version - b.version);
  return byAge.findLast(({ createdAt }) => Date.parse(createdAt) + JOIN_MS <= now) ?? byAge[0];
}
