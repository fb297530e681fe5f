import { METRICS } from '@wherry/core/metric-definitions.ts';
import { productSources } from './testing/product-sources.ts';
import { readReferenceTable } from './testing/reference-table.ts';

interface Row {
  part: string | undefined;
  type: string | undefined;
  name: string | undefined;
  labels: string | undefined;
}

const sorted = (rows: Row[]): Row[] =>
  rows.toSorted((a, b) => (`${a.part} ${a.name}` < `${b.part} ${b.name}` ? -1 : 1));

describe('docs/reference/metrics.md', () => {
  it('lists every metric with its type, labels and part, and no other', () => {
    const listed = readReferenceTable('metrics.md').map((row) => ({
      part: row['Part'],
      type: row['Type'],
      name: row['Metric'],
      labels: row['Labels']?.replaceAll('`', ''),
    }));
    const defined = Object.values(METRICS).map(({ part, type, name, labels }) => ({
      part,
      type,
      name: `wherry_${name}`,
      labels: labels.join(', ') || 'none',
    }));
    expect(sorted(listed)).toEqual(sorted(defined));
  });

  it('can be compared: no part makes a metric that is not listed', () => {
    // `service` is where the port is implemented.
    const elsewhere = productSources().filter(
      ({ part, text }) => part !== 'service' && /\.(?:counter|gauge|histogram)\((?!METRICS\.\w+\))/.test(text),
    );
    expect(elsewhere.map(({ file }) => file)).toEqual([]);
  });

  it('lists none that its part does not make', () => {
    const sources = productSources();
    const unmade = Object.entries(METRICS).filter(
      ([key, { part }]) => !sources.some((source) => source.part === part && source.text.includes(`METRICS.${key})`)),
    );
    expect(unmade.map(([key]) => key)).toEqual([]);
  });
});
