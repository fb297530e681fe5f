import { conflict, notFound } from '@wherry/core/errors.ts';
import { newKey, type KeysJson, type RotationRecord, type VersionedKey } from './keys-json.ts';

/*
 * What may become of the master encryption keys, each step as a function from one state to the next. Every state is
 * stored in one step, so a program that is killed leaves one of them, and whoever leads next goes on from there:
 *
 *   begin: a key is added, which only decrypts → activate: new values are encrypted with it, once every reader knows it
 *   → the values are encrypted again → finish: the older keys are retired, and decrypt until they are purged
 */

/** The master encryption keys, whether in a file or in a Secret. */
export type Ring = KeysJson;

/** How many values there are, how many have the current key, and how many do not decrypt. */
export type Counts = Pick<RotationRecord, 'processed' | 'total' | 'failed'>;

/** `added`: not active yet. `active`: encrypts. `superseded`: values may still need it. `retired`: none should. */
type KeyState = 'added' | 'active' | 'superseded' | 'retired';

/** How long a reader may be silent about a new key before it is taken for dead. */
export const READER_PATIENCE_MS = 60_000;

/** How many keys there are at most, the retired ones among them. */
export const MAX_KEYS = 100;

export function keyState({ current }: Pick<Ring, 'current'>, { version, retiredAt }: VersionedKey): KeyState {
  if (version > current) return 'added';
  if (version === current) return 'active';
  return retiredAt === undefined ? 'superseded' : 'retired';
}

/** The rotation that is in progress. */
export function runningRotation({ rotation }: Pick<Ring, 'rotation'>): RotationRecord | undefined {
  return rotation?.finishedAt === undefined ? rotation : undefined;
}

/** Whether no key can be added: all of them are in one Secret, whose size is limited. */
export function isFull({ keys }: Pick<Ring, 'keys'>): boolean {
  return keys.length >= MAX_KEYS;
}

/** @throws DomainError `conflict` while a rotation runs, and where there are too many keys. */
export function beginRotation(ring: Ring, now: number): Ring {
  const running = runningRotation(ring);
  if (running !== undefined) {
    throw conflict(
      `The rotation to encryption key version ${running.target} has been in progress since ${running.startedAt}: wait until it ends (GET /api/encryption-keys/rotation).`,
    );
  }
  if (isFull(ring))
    throw conflict(
      `There are ${ring.keys.length} encryption keys, and at most ${MAX_KEYS} are kept: delete retired ones (DELETE /api/encryption-keys/{version}), then rotate again.`,
    );
  // Versions of purged keys do not come back: the current key is never purged.
  const target = Math.max(...ring.keys.map(({ version }) => version)) + 1;
  const before = ring.rotation?.finishedAt;
  return {
    ...ring,
    keys: [...ring.keys, newKey(target, now)],
    rotation: {
      target,
      startedAt: new Date(now).toISOString(),
      ...(before !== undefined && { previousFinishedAt: before }),
      processed: 0,
      total: 0,
      failed: 0,
    },
  };
}

/** When the last rotation ended, in milliseconds since 1970; undefined before the first. */
export function lastRotation({ rotation }: Pick<Ring, 'rotation'>): number | undefined {
  const ended = rotation?.finishedAt ?? rotation?.previousFinishedAt;
  return ended === undefined ? undefined : Date.parse(ended);
}

/** When the next rotation is due, in milliseconds since 1970: counted from the last one, or from the first start. */
export function nextRotation(ring: Ring, intervalMs: number): number {
  const firstStart = Math.min(...ring.keys.map(({ createdAt }) => Date.parse(createdAt)));
  return (lastRotation(ring) ?? firstStart) + intervalMs;
}

/** The readers that have not acknowledged the key of the running rotation. */
export function readersBehind(ring: Ring, acknowledged: 'knows' | 'writes'): string[] {
  const target = runningRotation(ring)?.target ?? ring.current;
  return Object.entries(ring.readers ?? {}).flatMap(([name, reader]) => (reader[acknowledged] < target ? [name] : []));
}

/**
 * Makes the new key the active one once every reader has acknowledged it; the same ring while one has not. Readers that
 * stay silent are forgotten: a program that is killed cannot say goodbye, and one that lives registers again, with what
 * it reads then.
 */
export function activate(ring: Ring, now: number): Ring {
  const running = runningRotation(ring);
  if (running === undefined || running.target === ring.current) return ring;
  const behind = readersBehind(ring, 'knows');
  if (behind.length > 0 && now < Date.parse(running.startedAt) + READER_PATIENCE_MS) return ring;
  return { ...withoutReaders(ring, behind), current: running.target };
}

/** The counts of the running rotation, for those who do not run it. */
export function reportProgress(ring: Ring, counts: Counts): Ring {
  const running = runningRotation(ring);
  return running === undefined ? ring : { ...ring, rotation: { ...running, ...counts } };
}

/**
 * After a look at all values: ends the rotation that runs, and retires the older keys where every value has the current
 * one. A value that does not decrypt keeps them (E6), until a later look finds none.
 */
export function conclude(ring: Ring, now: number, counts: Counts): Ring {
  const at = new Date(now).toISOString();
  const { rotation } = ring;
  const keys = counts.failed > 0 ? ring.keys : ring.keys.map((key) => retired(ring, key, at));
  const next = rotation && { ...rotation, ...counts, finishedAt: rotation.finishedAt ?? at };
  const isSame = keys.every((key, index) => key === ring.keys[index]) && isEqual(next, rotation);
  return isSame ? ring : { ...ring, keys, ...(next && { rotation: next }) };
}

function retired(ring: Ring, key: VersionedKey, at: string): VersionedKey {
  return keyState(ring, key) === 'superseded' ? { ...key, retiredAt: at } : key;
}

/** A new total alone is no news. */
function isEqual(a: RotationRecord | undefined, b: RotationRecord | undefined): boolean {
  return a?.failed === b?.failed && a?.finishedAt === b?.finishedAt;
}

/**
 * Removes a retired key for good.
 * @throws DomainError `not_found`; `conflict` for a key that is not retired, or that a reader may still encrypt with.
 */
export function purge(ring: Ring, version: number): Ring {
  const key = ring.keys.find((one) => one.version === version);
  if (key === undefined) throw notFound(`There is no encryption key of version ${version}.`);
  const state = keyState(ring, key);
  if (state !== 'retired')
    throw conflict(
      `The encryption key of version ${version} is ${state}: only a retired key can be purged. A rotation retires older keys.`,
    );
  const writing = Object.entries(ring.readers ?? {}).find(([, { writes }]) => writes <= version);
  if (writing !== undefined)
    throw conflict(
      `${writing[0]} has not acknowledged that the encryption key of version ${version} is retired: try again in a minute.`,
    );
  return { ...ring, keys: ring.keys.filter((one) => one !== key) };
}

/** A reader has read this very state; the same ring where that is known. */
export function acknowledge(ring: Ring, reader: string): Ring {
  const knows = Math.max(...ring.keys.map(({ version }) => version));
  const known = ring.readers?.[reader];
  if (known?.knows === knows && known.writes === ring.current) return ring;
  return { ...ring, readers: { ...ring.readers, [reader]: { knows, writes: ring.current } } };
}

/** Readers that have stopped, or are taken for dead. */
export function withoutReaders(ring: Ring, names: readonly string[]): Ring {
  if (!names.some((name) => Object.hasOwn(ring.readers ?? {}, name))) return ring;
  return {
    ...ring,
    readers: Object.fromEntries(Object.entries(ring.readers ?? {}).filter(([name]) => !names.includes(name))),
  };
}

/**
 * The versions that a new state lacks although values may need them: such a state is damaged, or of an old backup. A
 * retired key may go.
 */
export function lostVersions(known: Ring, next: Ring): number[] {
  const kept = new Set(next.keys.map(({ version }) => version));
  return known.keys.flatMap((key) =>
    keyState(known, key) === 'retired' || kept.has(key.version) ? [] : [key.version],
  );
}
