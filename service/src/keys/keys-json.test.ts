import { isStartError } from '../start-error.ts';
import {
  keyRingOf,
  keysJsonSchema,
  newKey,
  newKeySecret,
  parseKeySecret,
  parseKeysJson,
  serializeKeysJson,
  type KeysJson,
} from './keys-json.ts';

const place = { name: 'The Secret wherry-system/wherry-encryption-keys', remedy: 'restore it' };
const now = Date.parse('2026-01-01T00:00:00Z');
const good: KeysJson = { format: 1, current: 2, keys: [newKey(1, now), newKey(2, now)] };

function refusal(parse: () => unknown): string {
  try {
    parse();
    return 'taken';
  } catch (error) {
    return isStartError(error) ? error.message : `another error: ${String(error)}`;
  }
}

describe('keys.json', () => {
  it('gives its keys back, the highest version as the current one', () => {
    const parsed = parseKeysJson(serializeKeysJson(good), keysJsonSchema, place);
    expect(parsed).toEqual(good);
    const ring = keyRingOf(parsed);
    expect(ring.current().version).toBe(2);
    expect(ring.get(1)?.export().toString('base64')).toBe(good.keys[0]?.secret);
  });

  it.each([
    ['nothing', '', 'is empty'],
    ['a cut text', serializeKeysJson(good).slice(0, 80), 'is truncated or not JSON'],
    ['no keys', JSON.stringify({ format: 1, current: 1, keys: [] }), 'keys: '],
    [
      'a short key',
      JSON.stringify({ ...good, keys: [{ ...good.keys[1], secret: 'c2hvcnQ=' }] }),
      'keys.0.secret: must be 32 bytes in base64',
    ],
    [
      'a version twice',
      JSON.stringify({ ...good, keys: [good.keys[1], good.keys[1]] }),
      'keys: must not contain a version twice',
    ],
    [
      'a current version that is not there',
      JSON.stringify({ ...good, current: 3 }),
      'current: must be a version of keys that is not retired',
    ],
    ['the key file of one machine', JSON.stringify({ ...good, digestKey: newKeySecret() }), 'Unrecognized key'],
  ])('E4: refuses %s: names the place and what to do, and holds no secret', (_what, text, problem) => {
    const message = refusal(() => parseKeysJson(text, keysJsonSchema, place));
    expect(message).toContain(problem);
    expect(message).toMatch(/^The Secret wherry-system\/wherry-encryption-keys .*restore it$/);
    for (const { secret } of good.keys) expect(message).not.toContain(secret.slice(0, 10));
  });
});

describe('a single key', () => {
  it('is 32 bytes in base64, with or without a line end', () => {
    const secret = newKeySecret();
    expect(Buffer.from(parseKeySecret(`${secret}\n`, place)).toString('base64')).toBe(secret);
    expect(parseKeySecret(secret, place)).toHaveLength(32);
  });

  it.each(['', '\n', 'c2hvcnQ=', 'x'.repeat(44)])('E4: refuses %j', (text) => {
    expect(refusal(() => parseKeySecret(text, place))).toMatch(
      /^The Secret .* (is empty|must be 32 bytes in base64): restore it$/,
    );
  });
});
