import type { KeyObject } from 'node:crypto';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { createDigestKey } from '@wherry/core/crypto/key-digest.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { DomainError } from '@wherry/core/errors.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import {
  keyFileSchema,
  newKey,
  newKeySecret,
  parseKeysJson,
  serializeKeysJson,
  type KeyFile,
  type KeysPlace,
} from '@wherry/service/keys/keys-json.ts';
import type { RingStorage } from '@wherry/service/keys/ring-storage.ts';
import type { Ring } from '@wherry/service/keys/ring-transitions.ts';
import { Listeners } from '@wherry/service/listeners.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { codeOf, reasonOf } from './error-facts.ts';
import { writeDurably } from './write-durably.ts';

interface LoadedKeys {
  /** How errors name the file. */
  place: KeysPlace;
  ring: RingStorage;
  digestKey: KeyObject;
}

/**
 * Reads the key file. It is created if `create` is set, which only a first start may do: beside an existing database it
 * would hide that the keys of all its secrets are lost (E4). An existing file is never replaced. If it is accessible to
 * others, that is corrected with a warning: its folder is private, so nobody can have read it.
 * @throws StartError where it is missing, empty, short or malformed: names it, says what to do, and contains no secret
 */
export function loadKeyFile(
  file: string,
  { create, clock, logger }: { create: boolean; clock: Pick<Clock, 'now'>; logger: Pick<Logger, 'warn' | 'error'> },
): LoadedKeys {
  let text = readIfThere(file);
  if (text === undefined) {
    if (!create)
      throw new StartError(`The key file ${file} is missing, and the database cannot be read without it: ${RESTORE}`);
    text = serializeKeysJson(newKeys(clock.now()));
    writeDurably(file, text);
  }
  makePrivate(file, logger);
  const place = { name: `The key file ${file}`, remedy: RESTORE };
  const keys = parseKeysJson(text, keyFileSchema, place);
  return {
    place,
    ring: new FileRing(file, keys, logger),
    digestKey: createDigestKey(Buffer.from(keys.digestKey, 'base64')),
  };
}

const RESTORE = 'restore it from a backup (to start over, move the whole data directory away)';

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new StartError(`The key file ${file} cannot be read (${reasonOf(error)})`, error);
  }
}

function newKeys(now: number): KeyFile {
  return { format: 1, current: 1, keys: [newKey(1, now)], digestKey: newKeySecret() };
}

function makePrivate(file: string, logger: Pick<Logger, 'warn'>): void {
  const mode = statSync(file).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  try {
    chmodSync(file, 0o600);
  } catch (error) {
    throw new StartError(
      `The key file ${file} is accessible to other users, and its permissions cannot be changed (${reasonOf(error)}): run chmod 600 on it`,
      error,
    );
  }
  logger.warn({ file, mode: mode.toString(8) }, 'the key file was accessible to other users and is now private (0600)');
}

/** The master encryption keys in the key file, which this process alone writes: it holds the data directory. */
class FileRing implements RingStorage {
  readonly #file: string;
  readonly #listeners: Listeners<[]>;
  #keys: KeyFile;

  constructor(file: string, keys: KeyFile, logger: Pick<Logger, 'error'>) {
    this.#file = file;
    this.#keys = keys;
    this.#listeners = new Listeners((error) => logger.error({ err: error }, 'a handler for new encryption keys threw'));
  }

  ring(): Ring {
    return this.#keys;
  }

  /** Nothing is awaited between reading and writing. */
  async change(decide: (ring: Ring) => Ring): Promise<Ring> {
    const { digestKey } = this.#keys;
    const next = decide(this.#keys);
    if (next === this.#keys) return next;
    const keys = keyFileSchema.parse({ ...next, digestKey });
    try {
      writeDurably(this.#file, serializeKeysJson(keys));
    } catch (error) {
      throw new DomainError(
        'unavailable',
        `The key file cannot be written (${reasonOf(error)}): free some space on the disk of the data directory, then try again.`,
      );
    }
    this.#keys = keys;
    this.#listeners.notify();
    return keys;
  }

  onChange(callback: () => void): () => void {
    return this.#listeners.add(callback);
  }

  missed(): void {
    // No other program adds a key.
  }
}
