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
import { Listeners } from '@wherry/service/listeners.ts';
import { ensureObject } from './ensure-object.ts';
import type { SystemObjects } from '@wherry/core/ports/system-objects.ts';

const DAY_MS = 86_400_000;
/** A key is replaced after this time, and accepted for as long again. */
const LIFE_MS = 90 * DAY_MS;
/** How long a new key must be known to all operators before tokens are made with it. */
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

/** The keys of the tokens by which runtimes prove which function they belong to. */
export interface FeedKeys {
  /**
   * Creates the first key, and the next one when it is due; reads those of other operators.
   * @throws DomainError; StartError
   */
  upkeep(): Promise<void>;
  /** New tokens are made with it. After the first `upkeep`. */
  current(): KeyObject;
  /** Tokens made with these are accepted. */
  accepted(): readonly KeyObject[];
  /** Calls back when `current` changes. Returns how to stop. */
  onChange(callback: () => void): () => void;
}

export function createFeedKeys(options: FeedKeysOptions): FeedKeys {
  const { secrets, name, systemNamespace, clock, logger } = options;
  const secretName = `${name}-feed-keys`;
  const place = {
    name: `The Secret ${systemNamespace}/${secretName} (keys.json)`,
    remedy: 'delete it so that new keys are created; instances then reconnect when their tokens are renewed',
  };
  const listeners = new Listeners<[]>((error) => logger.error({ err: error }, 'a handler for new feed keys threw'));
  let keys: VersionedKey[] = [];
  let current: { secret: string; key: KeyObject } | undefined;

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
        logger.info({ version: next.current }, 'created a feed key');
        return { 'keys.json': Buffer.from(serializeKeysJson(next)) };
      });
      keys = parseKeysJson(data['keys.json']?.toString('utf8') ?? '', keysJsonSchema, place).keys;
      const inUse = keyInUse(keys, now);
      // Not by version: a Secret that was deleted and made again begins with version 1, too.
      if (inUse === undefined || inUse.secret === current?.secret) return;
      const isFirst = current === undefined;
      current = { secret: inUse.secret, key: keyOf(inUse) };
      if (!isFirst) listeners.notify();
    },
    current() {
      if (current === undefined) throw new Error('there is no feed key before the first upkeep');
      return current.key;
    },
    accepted: () => keys.map(keyOf),
    onChange: (callback) => listeners.add(callback),
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

/** The newest key that every operator has had time to read; a single one is used at once. */
function keyInUse(keys: VersionedKey[], now: number): VersionedKey | undefined {
  const byAge = keys.toSorted((a, b) => a.version - b.version);
  return byAge.findLast(({ createdAt }) => Date.parse(createdAt) + JOIN_MS <= now) ?? byAge[0];
}
