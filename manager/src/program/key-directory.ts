import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { keyRingOf, keysJsonSchema, parseKeysJson } from '@wherry/service/keys/keys-json.ts';
import { watchMountedValue } from '@wherry/service/mounted-value.ts';
import { StartError } from '@wherry/service/start-error.ts';

export interface KeyDirectory {
  /** Returns the last complete keys at each call. */
  keyRing: KeyRing;
  /** Calls back after each change of the keys. Returns how to stop. */
  onChange(callback: () => void): () => void;
  stop(): void;
}

/**
 * The master encryption keys of a mounted Secret, read again when they change. An incomplete state is skipped, and so
 * is one that lacks a version that existed: what is encrypted with that version could no longer be decrypted.
 * @throws StartError that names the file and what is wrong with it (E4).
 */
export async function watchKeyDirectory({
  directory,
  clock,
  logger,
}: {
  directory: string;
  clock: Clock;
  logger: Logger;
}): Promise<KeyDirectory> {
  const file = path.join(directory, 'keys.json');
  const mounted = watchMountedValue({
    first: await read(file),
    read: async (current) => successorOf(current, await read(file), file),
    isSame: (a, b) => a.text === b.text,
    onNews: ({ ring }) => logger.info({ current: ring.current().version }, 'the new encryption keys are active'),
    onProblem: (problem) =>
      logger.error({ problem }, 'the new encryption keys cannot be used; the old ones stay active'),
    clock,
    logger,
  });
  return {
    keyRing: { current: () => mounted.current().ring.current(), get: (version) => mounted.current().ring.get(version) },
    onChange: (callback) => mounted.onChange(callback),
    stop: () => mounted.stop(),
  };
}

function successorOf(current: Read, next: Read, file: string): Read {
  const lost = current.keys.filter(({ version }) => !next.keys.some((key) => key.version === version));
  if (lost.length > 0)
    throw new StartError(
      `${file} no longer has the key of version ${lost.map(({ version }) => version).join(', ')}: bring it back`,
    );
  return next;
}

interface Read {
  text: string;
  keys: readonly { version: number }[];
  ring: KeyRing;
}

async function read(file: string): Promise<Read> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new StartError(
      `WHERRY_KEYS_DIRECTORY: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}): mount the Secret of the encryption keys there`,
      error,
    );
  }
  const keys = parseKeysJson(text, keysJsonSchema, {
    name: `WHERRY_KEYS_DIRECTORY: ${file}`,
    remedy: 'bring back the Secret of the encryption keys from a backup',
  });
  return { text, keys: keys.keys, ring: keyRingOf(keys) };
}
