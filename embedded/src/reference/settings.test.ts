import { SETTINGS } from '@wherry/core/settings-definitions.ts';
import { productSources } from './testing/product-sources.ts';
import { columnOf, readReferenceTable } from './testing/reference-table.ts';

describe('docs/reference/settings.md', () => {
  const rows = readReferenceTable('settings.md');

  it('lists every setting, and no other', () => {
    expect(columnOf(rows, 'Setting')).toEqual(Object.keys(SETTINGS).sort());
  });

  it('lists their defaults', () => {
    const defaults = Object.entries(SETTINGS).map(([name, definition]) => [name, definition.default]);
    expect(Object.fromEntries(rows.map((row) => [row['Setting'], row['Default']]))).toEqual(
      Object.fromEntries(defaults),
    );
  });

  it('says truly which have an effect: those that some part reads by name', () => {
    const text = productSources()
      .filter(({ file }) => file !== 'core/src/settings-definitions.ts')
      .map((source) => source.text)
      .join('\n');
    const used = Object.keys(SETTINGS).filter((name) => text.includes(`'${name}'`));
    expect(
      rows
        .filter((row) => row['In effect'] !== 'not yet')
        .map((row) => row['Setting'])
        .sort(),
    ).toEqual(used.sort());
  });
});
