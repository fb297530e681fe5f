import { randomBytes, type KeyObject } from 'node:crypto';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { createDigestKey } from '@wherry/core/crypto/key-digest.ts';
import { createKeyRing } from '@wherry/core/crypto/key-ring.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { z } from 'zod';
import { StartError } from '@wherry/service/start-error.ts';
import { codeOf, reasonOf } from './error-facts.ts';
import { writeDurably } from './write-durably.ts';

const SECRET_BYTES = 32;

const secretSchema = z.string().refine(isSecret, { message: `must be ${SECRET_BYTES} bytes in base64` });

const keyFileSchema = z
  .strictObject({
    format: z.literal(1),
    /** The version that new envelopes are made with. */
    current: z.int().min(1),
    keys: z.array(z.strictObject({ version: z.int().min(1), secret: secretSchema, createdAt: z.iso.datetime() })).min(1),
    /** Of the digests by which routers know API keys. */
    digestKey: secretSchema,
  })
  .refine(({ keys }) => new Set(keys.map((key) => key.version)).size === keys.length, {
    path: ['keys'],
    message: 'must not hold a version twice',
  })
  .refine(({ current, keys }) => current === Math.max(...keys.map((key) => key.version)), {
    path: ['current'],
    message: 'must be the highest version of keys',
  });
/** `keys.json`: the master encryption keys and what else must never lie in the database. */
export type KeyFile = z.infer<typeof keyFileSchema>;

export interface LoadedKeys {
  keyRing: KeyRing;
  digestKey: KeyObject;
  /** The versions of the ring, with the time of their making (RFC 3339). */
  versions: { version: number; createdAt: string }[];
}

/**
 * Reads the key file. It is made where `create` is set, which only a first start may do: made beside an existing
 * database it would hide that the keys of all its secrets are lost (E4). An existing file is never replaced. Readable by
 * others, it is closed to them with a warning: the folder around it is private, so that nobody has read it there.
 * @throws StartError where it is missing, empty, short or malformed: names it, says what to do, and holds no secret
 */
export function loadKeyFile(
  file: string,
  { create, clock, logger }: { create: boolean; clock: Pick<Clock, 'now'>; logger: Pick<Logger, 'warn'> },
): LoadedKeys {
  let text = readIfThere(file);
  if (text === undefined) {
    if (!create) throw new StartError(`The key file ${file} is missing, and the database cannot be read without it: ${RESTORE}`);
    text = serialize(newKeys(clock.now()));
    writeDurably(file, text);
  }
  makePrivate(file, logger);
  return load(parse(file, text));
}

const RESTORE = 'restore it from a backup (to start over, move the whole data directory away)';

/** Puts a key file in place in one step, on disk when it returns. */
export function writeKeyFile(file: string, keys: KeyFile): void {
  writeDurably(file, serialize(keyFileSchema.parse(keys)));
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new StartError(`The key file ${file} cannot be read (${reasonOf(error)})`, error);
  }
}

function newKeys(now: number): KeyFile {
  const secret = () => randomBytes(SECRET_BYTES).toString('base64');
  const first = { version: 1, secret: secret(), createdAt: new Date(now).toISOString() };
  return { format: 1, current: first.version, keys: [first], digestKey: secret() };
}

/** What JSON.parse says of a text quotes it: its message must not be shown, nor kept as a cause. */
function parse(file: string, text: string): KeyFile {
  if (text.trim() === '') throw new StartError(`The key file ${file} is empty: ${RESTORE}`);
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw new StartError(`The key file ${file} is cut short or is not JSON: ${RESTORE}`);
  }
  const parsed = keyFileSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`);
  throw new StartError(`The key file ${file} is not valid (${faults.join('; ')}): ${RESTORE}`);
}

function makePrivate(file: string, logger: Pick<Logger, 'warn'>): void {
  const mode = statSync(file).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  try {
    chmodSync(file, 0o600);
  } catch (error) {
    throw new StartError(`The key file ${file} is open to other users and cannot be closed to them (${reasonOf(error)}): chmod 600 it`, error);
  }
  logger.warn({ file, mode: mode.toString(8) }, 'The key file was open to other users and is now private (0600)');
}

function load({ keys, digestKey }: KeyFile): LoadedKeys {
  return {
    keyRing: createKeyRing(keys.map(({ version, secret }) => ({ version, secret: Buffer.from(secret, 'base64') }))),
    digestKey: createDigestKey(Buffer.from(digestKey, 'base64')),
    versions: keys.map(({ version, createdAt }) => ({ version, createdAt })),
  };
}

function serialize(keys: KeyFile): string {
  return `${JSON.stringify(keys, null, 2)}\n`;
}

function isSecret(text: string): boolean {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === SECRET_BYTES && bytes.toString('base64') === text;
}
