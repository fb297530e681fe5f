import { CONDITION_TYPES, REASONS } from '@wherry/core/resources/conditions.ts';
import { productSources } from './testing/product-sources.ts';
import { columnOf, readReferenceTable } from './testing/reference-table.ts';

describe('docs/reference/conditions.md', () => {
  const reasons = readReferenceTable('conditions.md', 'Reasons');

  it('lists every type of condition, and no other', () => {
    expect(columnOf(readReferenceTable('conditions.md', 'Types'), 'Type')).toEqual([...CONDITION_TYPES].sort());
  });

  it('lists every reason, and no other', () => {
    expect(columnOf(reasons, 'Reason')).toEqual([...REASONS].sort());
  });

  it('names the types that a reason is given for', () => {
    const named = reasons.flatMap((row) => row['Types']!.replaceAll('`', '').split(', '));
    expect(named.filter((type) => !CONDITION_TYPES.some((known) => known === type))).toEqual([]);
  });

  it('holds no reason that no part gives', () => {
    // crds lists the reasons for its pages.
    const text = productSources()
      .filter(({ part, file }) => part !== 'crds' && file !== 'core/src/resources/conditions.ts')
      .map((source) => source.text)
      .join('\n');
    expect(REASONS.filter((reason) => !text.includes(`'${reason}'`))).toEqual([]);
  });
});
