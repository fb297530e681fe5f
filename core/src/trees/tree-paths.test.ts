import { fc } from '@wherry/testing/properties.ts';
import { treePathProblem } from './tree-paths.ts';

/** The rule once more, by comparing every path with every other. */
function canLieTogether(paths: string[]): boolean {
  return paths.every((a, index) => paths.every((b, other) => index === other || (a !== b && !b.startsWith(`${a}/`))));
}

const path = fc
  .array(fc.constantFrom('a', 'b', 'a-b', 'a.b', 'a b', 'ä', 'A', 'a0'), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('/'));

describe('treePathProblem', () => {
  it('agrees with comparing every two paths', () => {
    fc.assert(
      fc.property(
        fc.array(path, { maxLength: 8 }),
        (paths) => (treePathProblem(paths) === undefined) === canLieTogether(paths),
      ),
      { numRuns: 3000 },
    );
  });

  it.each([
    [['a', 'b', 'a'], 'a appears twice'],
    [['lib/a/b.ts', 'x', 'lib/a'], 'lib/a is a file, so lib/a/b.ts cannot be one'],
    [['a', 'a-b', 'a.b', 'a/b'], 'a is a file, so a/b cannot be one'],
  ])('says what clashes in %j', (paths, problem) => {
    expect(treePathProblem(paths)).toBe(problem);
  });

  it('takes 20,000 deep paths in less than a second', () => {
    const paths = Array.from({ length: 20_000 }, (_, index) => `${'a/'.repeat(50)}${index}`);
    const before = machineTime();
    expect(treePathProblem(paths)).toBeUndefined();
    expect(machineTime() - before).toBeLessThan(1000);
  });
});
