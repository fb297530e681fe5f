import { randomBytes } from 'node:crypto';
import { issueMessage } from '@wherry/core/issue-message.ts';
import { createKeyRing } from '@wherry/core/crypto/key-ring.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import { z } from 'zod';
import { StartError } from '../start-error.ts';

/*
 * `keys.json`: versioned keys of 32 bytes, in the data directory of one machine and in Secrets of a cluster.
 */
const SECRET_BYTES = 32;

/** 32 bytes in base64. */
const keySecretSchema = z.string().refine(isSecret, { message: `must be ${SECRET_BYTES} bytes in base64` });

const time = z.iso.datetime();
const versionedKey = z.strictObject({
  version: z.int().min(1),
  secret: keySecretSchema,
  createdAt: time,
  /** Since when nothing needs it any more, as far as is known; it decrypts until it is purged. */
  retiredAt: time.optional(),
});

const count = z.int().min(0);

/** The last rotation: it runs until it has `finishedAt`. The counts are those of its last report. */
const rotationSchema = z.strictObject({
  /** The version that it brings. */
  target: z.int().min(1),
  startedAt: time,
  finishedAt: time.optional(),
  /** When the rotation before this one ended. */
  previousFinishedAt: time.optional(),
  processed: count,
  total: count,
  failed: count,
});
export type RotationRecord = z.infer<typeof rotationSchema>;

/** The programs that read the ring, by their instance, with what each has acknowledged. */
const readersSchema = z.record(
  z.string(),
  z.strictObject({
    /** The highest version that it decrypts with. */
    knows: count,
    /** The version that it encrypts with. */
    writes: count,
  }),
);

/**
 * The fields of every keys.json. `current` is the version that new things are made with: a higher one has been added and
 * is not active yet, a lower one only decrypts.
 */
const keysShape = {
  format: z.literal(1),
  current: z.int().min(1),
  keys: z.array(versionedKey).min(1),
  rotation: rotationSchema.optional(),
};

/** One version of a key. */
export type VersionedKey = z.infer<typeof versionedKey>;

/** The master encryption keys of a cluster, or any other keys with versions. */
export const keysJsonSchema = withRules(z.strictObject({ ...keysShape, readers: readersSchema.optional() }));
export type KeysJson = z.infer<typeof keysJsonSchema>;

/**
 * The key file of one machine: the master encryption keys, and the key of the digests by which routers know API keys.
 */
export const keyFileSchema = withRules(z.strictObject({ ...keysShape, digestKey: keySecretSchema }));
export type KeyFile = z.infer<typeof keyFileSchema>;

function withRules<T extends z.ZodType<{ current: number; keys: VersionedKey[] }>>(schema: T): T {
  return schema
    .refine(({ keys }) => new Set(keys.map((key) => key.version)).size === keys.length, {
      path: ['keys'],
      message: 'must not contain a version twice',
    })
    .refine(({ current, keys }) => keys.some((key) => key.version === current && key.retiredAt === undefined), {
      path: ['current'],
      message: 'must be a version of keys that is not retired',
    });
}

/** A new key with 256 random bits. */
export function newKey(version: number, now: number): VersionedKey {
  return { version, secret: newKeySecret(), createdAt: new Date(now).toISOString() };
}

export function newKeySecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64');
}

/** Where keys stand, for errors: `The key file /data/keys.json`, and what to do when it is invalid. */
export interface KeysPlace {
  name: string;
  remedy: string;
}

/**
 * What JSON.parse says of a text quotes it: its message must not be shown, nor kept as a cause.
 * @throws StartError for a text that is empty, cut short or malformed (E4): names the place and holds no secret.
 */
export function parseKeysJson<T>(text: string, schema: z.ZodType<T>, { name, remedy }: KeysPlace): T {
  if (text.trim() === '') throw new StartError(`${name} is empty: ${remedy}`);
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw new StartError(`${name} is truncated or not JSON: ${remedy}`);
  }
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || 'the file'}: ${issueMessage(issue.message)}`,
  );
  throw new StartError(`${name} is not valid (${faults.join('; ')}): ${remedy}`);
}

/** @throws StartError for anything but 32 bytes in base64; a line's end after them is fine. */
export function parseKeySecret(text: string, { name, remedy }: KeysPlace): Uint8Array {
  const trimmed = text.trim();
  if (trimmed === '') throw new StartError(`${name} is empty: ${remedy}`);
  if (!isSecret(trimmed)) throw new StartError(`${name} must be ${SECRET_BYTES} bytes in base64: ${remedy}`);
  return Buffer.from(trimmed, 'base64');
}

export function serializeKeysJson(keys: KeysJson | KeyFile): string {
  return `${JSON.stringify(keys, null, 2)}\n`;
}

export function keyRingOf({ keys, current }: Pick<KeysJson, 'keys' | 'current'>): KeyRing {
  const decoded = keys.map(({ version, secret }) => ({ version, secret: Buffer.from(secret, 'base64') }));
  return createKeyRing(decoded, current);
}

function isSecret(text: string): boolean {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === SECRET_BYTES && bytes.toString('base64') === text;
}
