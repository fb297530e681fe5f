import type { KeyObject } from 'node:crypto';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { createDigestKey } from '@wherry/core/crypto/key-digest.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import {
  keyFileSchema,
  keyRingOf,
  newKey,
  newKeySecret,
  parseKeysJson,
  serializeKeysJson,
  type KeyFile,
} from '@wherry/service/keys/keys-json.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { codeOf, reasonOf } from './error-facts.ts';
import { writeDurably } from './write-durably.ts';

interface LoadedKeys {
  keyRing: KeyRing;
  digestKey: KeyObject;
  /** The versions of the ring, with the time of their making (RFC 3339). */
  versions: { version: number; createdAt: string }[];
}

/**
 * Reads the key file. It is created if `create` is set, which only a first start may do: beside an existing database it
 * would hide that the keys of all its secrets are lost (E4). An existing file is never replaced. If it is accessible to
 * others, that is corrected with a warning: its folder is private, so nobody can have read it.
 * @throws StartError where it is missing, empty, short or malformed: names it, says what to do, and contains no secret
 */
export function loadKeyFile(
  file: string,
  { create, clock, logger }: { create: boolean; clock: Pick<Clock, 'now'>; logger: Pick<Logger, 'warn'> },
): LoadedKeys {
  let text = readIfThere(file);
  if (text === undefined) {
    if (!create)
      throw new StartError(`The key file ${file} is missing, and the database cannot be read without it: ${RESTORE}`);
    text = serializeKeysJson(newKeys(clock.now()));
    writeDurably(file, text);
  }
  makePrivate(file, logger);
  return load(parseKeysJson(text, keyFileSchema, { name: `The key file ${file}`, remedy: RESTORE }));
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

function load(keyFile: KeyFile): LoadedKeys {
  return {
    keyRing: keyRingOf(keyFile),
    digestKey: createDigestKey(Buffer.from(keyFile.digestKey, 'base64')),
    versions: keyFile.keys.map(({ version, createdAt }) => ({ version, createdAt })),
  };
}
