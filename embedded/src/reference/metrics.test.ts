import { productSources, type ProductSource } from './product-sources.ts';
import { readReferenceTable } from './reference-table.ts';

const TYPES = '(counter|gauge|histogram)';
/** How every metric is made: by a name and a help text that stand there, with labels that stand there or in a constant. */
const METRIC = new RegExp(String.raw`\.${TYPES}\(\s*'(\w+)',\s*'(?:[^'\\]|\\.)*'(?:,\s*(\[[^\]]*\]|\w+))?,?\s*\)`, 'g');

/** The labels of a list as it is written; a name, or a spread one, is a constant of the same file. */
function labelsIn(text: string, list: string): string[] {
  if (/^\w+$/.test(list)) {
    const constant = new RegExp(String.raw`const ${list} = (\[[^\]]*\])`).exec(text)?.[1];
    if (constant === undefined) throw new Error(`the labels ${list} are not a constant of their file`);
    return labelsIn(text, constant);
  }
  return [...list.matchAll(/\.\.\.(\w+)|'(\w+)'/g)].flatMap(([, spread, label]) =>
    spread === undefined ? [label ?? ''] : labelsIn(text, spread),
  );
}

interface Made {
  part: string;
  name: string;
  type: string;
  labels: string;
}

const madeIn = ({ part, text }: ProductSource): Made[] =>
  [...text.matchAll(METRIC)].map(([, type = '', name = '', labels = '[]']) => ({
    part,
    type,
    name: `wherry_${name}`,
    labels: labelsIn(text, labels).join(', ') || 'none',
  }));

/** Which processes a file runs in: the router, the one service of one machine, the operator of a cluster. */
function processesOf({ part, file }: ProductSource): string[] {
  if (part === 'router') return ['router'];
  if (part === 'kube' || file.startsWith('operator/src/cluster/')) return ['cluster operator'];
  return part === 'operator' ? ['service', 'cluster operator'] : ['service'];
}

describe('docs/reference/metrics.md', () => {
  // `service` is where the port is implemented.
  const sources = productSources().filter(({ part }) => part !== 'service' && part !== 'core');

  it('can be compared: every metric is made in a way that this test can read', () => {
    const calls = sources.filter(
      ({ text }) => text.match(new RegExp(String.raw`\.${TYPES}\(`, 'g'))?.length !== text.match(METRIC)?.length,
    );
    expect(calls.map(({ file }) => file)).toEqual([]);
  });

  it('finds no name twice in one process, whose registry would refuse it', () => {
    const names = sources.flatMap((source) =>
      processesOf(source).flatMap((process) => madeIn(source).map(({ name }) => `${process} ${name}`)),
    );
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('lists every metric with its type, labels and part, and no other', () => {
    const listed = readReferenceTable('metrics.md').map((row) => ({
      part: row['Part'],
      type: row['Type'],
      name: row['Metric'],
      labels: row['Labels']!.replaceAll('`', ''),
    }));
    const order = (metric: { part?: string | undefined; name?: string | undefined }): string =>
      `${metric.part} ${metric.name}`;
    const sorted = <T extends Partial<Made>>(metrics: T[]): T[] =>
      metrics.sort((a, b) => (order(a) < order(b) ? -1 : 1));
    expect(sorted(listed as Made[])).toEqual(sorted(sources.flatMap(madeIn)));
  });
});
