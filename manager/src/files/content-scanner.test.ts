import { fc } from '@wherry/testing/properties.ts';
import { Base64Decoder } from './base64-decoder.ts';
import { ContentScanner } from './content-scanner.ts';

/** Scans text that comes in pieces of these lengths, over and over. */
function scan(text: string, lengths: readonly number[]): { content: string; envelope: unknown; isCut: boolean } {
  const scanner = new ContentScanner();
  let content = '';
  for (let at = 0, round = 0; at < text.length; round += 1) {
    const length = lengths[round % lengths.length] ?? 1;
    content += scanner.push(text.slice(at, at + length));
    at += length;
  }
  return { content, envelope: scanner.end(), isCut: scanner.isCut };
}

const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
/** Text as JSON writes it, and with each unit as an escape. */
const escaped = (text: string): string =>
  `"${text.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`;
const refused = { code: 'validation_failed' };

describe('the content of a JSON upload (M8, M10)', () => {
  it('is decoded whatever it holds and wherever it is cut; the envelope is the rest', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), lengths, fc.boolean(), (content, pieces, isFirst) => {
        for (const value of [JSON.stringify(content), escaped(content)]) {
          const text = isFirst
            ? ` {"encoding" : "base64", "content"\n: ${value}} `
            : `{"content":${value},"encoding":"base64"}`;
          expect(scan(text, pieces)).toEqual({ content, envelope: { content: '', encoding: 'base64' }, isCut: false });
        }
      }),
    );
  });

  it.each<[string, unknown]>([
    ['{"\\u0063ontent":"x"}', { content: '' }],
    ['{"a":{"content":"y"},"content":"x"}', { a: { content: 'y' }, content: '' }],
    ['{"a":"content","content":"x","b":["content",":"]}', { a: 'content', content: '', b: ['content', ':'] }],
    ['{"\\"content":"y","content":"x"}', { '"content': 'y', content: '' }],
  ])('is that of the object itself: %s', (text, envelope) => {
    for (const length of [1, 2, 1000]) expect(scan(text, [length])).toEqual({ content: 'x', envelope, isCut: false });
  });

  it.each([
    '{"content":"a\nb"}',
    '{"content":"\\x"}',
    '{"content":"\\u12g4"}',
    '{"content":"x"',
    '{"content":"x',
    '{"content":"x\\',
    '{"content":"x"}}',
    '["content":"x"]',
    '{"content":"x","content":"y"}',
    '{"content":"x":"y"}',
    '{"content":"x" "a":1}',
    '{"content":"x","__proto__":{}}',
    `{"content":"x","a":${'['.repeat(40)}${']'.repeat(40)}}`,
  ])('is refused as malformed or poisonous: %j', (text) => {
    for (const length of [1, 3, 1000]) expect(() => scan(text, [length])).toThrow(expect.objectContaining(refused));
  });

  it('detects half of a character at its end', () => {
    for (const length of [1, 4, 100]) {
      const scanner = new ContentScanner();
      const text = '{"content":"a\\ud83d';
      for (let at = 0; at < text.length; at += length) scanner.push(text.slice(at, at + length));
      expect(scanner.isCut).toBe(true);
    }
  });
});

describe('base64 in pieces', () => {
  it('is what was encoded, wherever it is cut, with line breaks or without', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), lengths, (bytes, pieces) => {
        const text = Buffer.from(bytes).toString('base64').replace(/.{7}/g, '$&\r\n');
        const decoder = new Base64Decoder();
        const found: Buffer[] = [];
        for (let at = 0, round = 0; at < text.length; at += pieces[(round - 1) % pieces.length] ?? 1) {
          found.push(decoder.push(text.slice(at, at + (pieces[round % pieces.length] ?? 1))));
          round += 1;
        }
        decoder.end();
        expect(Buffer.concat(found).equals(bytes)).toBe(true);
      }),
    );
  });

  it.each(['a*b=', 'YWJ', 'YQ==YQ==', 'Y===', '=', 'YW Jj', 'YQ=x'])('refuses %j', (text) => {
    for (const length of [1, 4, 100]) {
      expect(() => {
        const decoder = new Base64Decoder();
        for (let at = 0; at < text.length; at += length) decoder.push(text.slice(at, at + length));
        decoder.end();
      }).toThrow(expect.objectContaining(refused));
    }
  });
});
