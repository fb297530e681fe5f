import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serializeKeysJson, type KeyFile } from '@wherry/service/keys/keys-json.ts';
import { keyRingOver } from '@wherry/service/keys/ring-storage.ts';
import { activate, beginRotation, conclude } from '@wherry/service/keys/ring-transitions.ts';
import { loadKeyFile } from './key-file.ts';
import { StartError } from '@wherry/service/start-error.ts';

let folder: string;
let file: string;
let warnings: object[];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'wherry-keys-'));
  file = path.join(folder, 'keys.json');
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const clock = { now: () => Date.UTC(2026, 10, 21) };
const logger = { warn: (fields: object) => void warnings.push(fields), error: () => undefined };
function load(create = false) {
  const { ring, digestKey } = loadKeyFile(file, { create, clock, logger });
  return { ring, keyRing: keyRingOver(ring), digestKey };
}
const stored = () => JSON.parse(readFileSync(file, 'utf8')) as KeyFile;

const secret = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const sample = (over: object = {}): KeyFile => ({
  format: 1,
  current: 2,
  keys: [
    { version: 1, secret: secret(1), createdAt: '2026-01-01T00:00:00.000Z' },
    { version: 2, secret: secret(2), createdAt: '2026-06-01T00:00:00.000Z' },
  ],
  digestKey: secret(3),
  ...over,
});

function refusal(create = false): string {
  let error: unknown;
  try {
    load(create);
  } catch (reason) {
    error = reason;
  }
  expect(error).toBeInstanceOf(StartError);
  const { message } = error as StartError;
  expect(message).toContain(file);
  expect(message).not.toContain('\n');
  return message;
}

describe('loadKeyFile', () => {
  it('makes the file on the first start, for its owner alone, and reads the same keys ever after', () => {
    const first = load(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['keys.json']);
    const text = readFileSync(file, 'utf8');
    expect(stored()).toEqual({
      format: 1,
      current: 1,
      keys: [
        { version: 1, secret: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/), createdAt: '2026-11-21T00:00:00.000Z' },
      ],
      digestKey: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
    });
    expect(stored().digestKey).not.toBe(stored().keys[0]?.secret);
    for (const create of [true, false]) {
      const again = load(create);
      expect(again.keyRing.current().version).toBe(1);
      expect(again.keyRing.current().key.equals(first.keyRing.current().key)).toBe(true);
      expect(again.digestKey.equals(first.digestKey)).toBe(true);
    }
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('makes the file where a crash in the middle of its making left half of one', () => {
    writeFileSync(`${file}.tmp`, 'half', { mode: 0o644 });
    load(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['keys.json']);
  });

  it('makes other keys in another directory', () => {
    const first = load(true);
    rmSync(file);
    const second = load(true);
    expect(second.keyRing.current().key.equals(first.keyRing.current().key)).toBe(false);
  });

  it('reads every version of the ring, and which is current', () => {
    writeFileSync(file, serializeKeysJson(sample()), { mode: 0o600 });
    const { keyRing, digestKey } = load();
    expect(keyRing.current().version).toBe(2);
    expect(keyRing.get(1)?.export()).toEqual(Buffer.alloc(32, 1));
    expect(keyRing.get(2)?.export()).toEqual(Buffer.alloc(32, 2));
    expect(digestKey.export()).toEqual(Buffer.alloc(32, 3));
  });

  it('E4: refuses a missing file beside a database, and does not make one', () => {
    expect(refusal()).toContain('restore it from a backup');
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    ['empty', ''],
    ['blank', '  \n'],
    ['cut short', JSON.stringify(sample()).slice(0, 120)],
    ['not an object', '[]'],
    ['without keys', JSON.stringify(sample({ keys: [] }))],
    [
      'with a short key',
      JSON.stringify(sample({ keys: [{ ...sample().keys[0], secret: secret(1).slice(4) }], current: 1 })),
    ],
    ['with a key that is not base64', JSON.stringify(sample({ digestKey: '!'.repeat(44) }))],
    ['without the digest key', JSON.stringify(sample({ digestKey: undefined }))],
    ['whose current version it does not hold', JSON.stringify(sample({ current: 3 }))],
    [
      'whose current version is retired',
      JSON.stringify(sample({ keys: sample().keys.map((key) => ({ ...key, retiredAt: key.createdAt })) })),
    ],
    ['with a version twice', JSON.stringify(sample({ keys: [sample().keys[1], sample().keys[1]] }))],
    ['of another format', JSON.stringify(sample({ format: 2 }))],
    ['with an unknown field', JSON.stringify(sample({ extra: 1 }))],
  ])('E4: refuses a file %s, even on a first start, leaves it as it is, and shows no secret', (_what, text) => {
    writeFileSync(file, text, { mode: 0o600 });
    for (const create of [false, true]) {
      const message = refusal(create);
      expect(message).toContain('restore it from a backup');
      for (const { secret: value } of sample().keys) expect(message).not.toContain(value.slice(0, 8));
    }
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('refuses what cannot be read as a file', () => {
    file = folder;
    expect(refusal()).toContain('cannot be read');
  });

  it('closes a file that is open to others, with a warning', () => {
    writeFileSync(file, serializeKeysJson(sample()), { mode: 0o600 });
    load();
    expect(warnings).toEqual([]);
    chmodSync(file, 0o644);
    load();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(warnings).toEqual([{ file, mode: '644' }]);
  });
});

describe('the ring in the key file', () => {
  const now = clock.now();

  it('E5: is changed in one step that the next start reads, with the digest key as it was', async () => {
    const { ring, keyRing, digestKey } = load(true);
    const seen: number[] = [];
    keyRing.onChange(() => seen.push(keyRing.current().version));
    await ring.change((state) => beginRotation(state, now));
    expect([keyRing.current().version, keyRing.get(2)?.export().length]).toEqual([1, 32]);
    expect(load().ring.ring()).toEqual(ring.ring());
    await ring.change((state) => activate(state, now));
    await ring.change((state) => conclude(state, now, { processed: 0, total: 0, failed: 0 }));
    expect(seen).toEqual([1, 2]);
    const again = load();
    expect(again.ring.ring()).toEqual(ring.ring());
    expect(again.keyRing.current().key.equals(keyRing.current().key)).toBe(true);
    expect(again.digestKey.equals(digestKey)).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['keys.json']);
  });

  it('writes nothing where nothing changes, and keeps the old state where the decision throws', async () => {
    const { ring } = load(true);
    const text = readFileSync(file, 'utf8');
    const { ino } = statSync(file);
    await ring.change((state) => state);
    const begun = await ring.change((state) => beginRotation(state, now));
    expect(statSync(file).ino).not.toBe(ino);
    await expect(ring.change((state) => beginRotation(state, now))).rejects.toMatchObject({ code: 'conflict' });
    expect(ring.ring()).toBe(begun);
    expect(readFileSync(file, 'utf8')).not.toBe(text);
  });

  it('is as it was where the file cannot be written', async () => {
    const { ring } = load(true);
    const before = ring.ring();
    mkdirSync(`${file}.tmp`);
    await expect(ring.change((state) => beginRotation(state, now))).rejects.toMatchObject({ code: 'unavailable' });
    expect(ring.ring()).toBe(before);
    expect(load().ring.ring()).toEqual(before);
  });
});
