import { createHash } from 'node:crypto';
import { fc } from '@wherry/testing/properties.ts';
import { decodeTree, EMPTY_TREE, encodeTree, sha256, type TreeEntry } from './tree.ts';

const entry = fc.record(
  {
    path: fc.string({ minLength: 1, maxLength: 12 }),
    digest: fc.string({ maxLength: 5 }).map((text) => sha256(text)),
    size: fc.nat(),
    executable: fc.boolean(),
    mtime: fc.nat(),
  },
  { requiredKeys: ['path', 'digest', 'size', 'mtime'] },
);
const files = fc.uniqueArray(entry, { selector: ({ path }) => path, maxLength: 8 }) as fc.Arbitrary<TreeEntry[]>;

describe('encodeTree', () => {
  it('has one digest for one state, in whatever order its files and their fields come', () => {
    fc.assert(
      fc.property(files, fc.infiniteStream(fc.nat()), (list, order) => {
        const shuffled = list
          .map((file) => ({
            file: Object.fromEntries(Object.entries(file).reverse()) as TreeEntry,
            at: order.next().value as number,
          }))
          .sort((a, b) => a.at - b.at)
          .map(({ file }) => file);
        const encoded = encodeTree({ files: list });
        expect(encodeTree({ files: shuffled })).toEqual(encoded);
        expect(encoded.digest).toBe(createHash('sha256').update(encoded.bytes).digest('hex'));
      }),
    );
  });

  it('comes back as it went, sorted by path', () => {
    fc.assert(
      fc.property(files, (list) => {
        const back = decodeTree(encodeTree({ files: list }).bytes);
        expect(back.files.map(({ path }) => path)).toEqual(list.map(({ path }) => path).sort());
        for (const file of list) {
          const { executable, ...rest } = file;
          expect(back.files).toContainEqual(executable === true ? file : rest);
        }
      }),
    );
  });

  it.each([
    ['path', { path: 'b' }],
    ['digest', { digest: sha256('y') }],
    ['size', { size: 2 }],
    ['mode', { executable: true }],
    ['time', { mtime: 2 }],
  ])('has another digest for another %s', (_title, change) => {
    const file = { path: 'a', digest: sha256('x'), size: 1, mtime: 1 };
    expect(encodeTree({ files: [{ ...file, ...change }] }).digest).not.toBe(encodeTree({ files: [file] }).digest);
  });

  it('takes the empty tree', () => {
    expect(decodeTree(encodeTree(EMPTY_TREE).bytes)).toEqual({ files: [] });
  });
});

describe('decodeTree', () => {
  it.each([
    '',
    '{',
    '[]',
    '{"files":[{}]}',
    '{"files":[],"more":1}',
    '{"files":[{"path":"a","digest":"x","size":1,"mtime":1}]}',
  ])('refuses %j', (text) => {
    expect(() => decodeTree(Buffer.from(text))).toThrow();
  });
});
