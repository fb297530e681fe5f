import { readFileSync } from 'node:fs';
import path from 'node:path';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import { parse } from 'yaml';

const FILES = path.join(import.meta.dirname, '../../../charts/wherry/files');
/** Labels that a scrape adds, and those of histograms' buckets. */
const OF_THE_SCRAPE = ['namespace', 'pod', 'le'];

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
  templating: { list: { type: string; query: string }[] };
}

/** Every expression of the chart's alerts and of its dashboard, with where it is. */
function expressions(): [where: string, expr: string][] {
  const { groups } = parse(readFileSync(path.join(FILES, 'alerts.yaml'), 'utf8')) as {
    groups: { rules: { alert: string; expr: string }[] }[];
  };
  const dashboard = JSON.parse(readFileSync(path.join(FILES, 'dashboard.json'), 'utf8')) as Dashboard;
  return [
    ...groups.flatMap(({ rules }) => rules.map(({ alert, expr }): [string, string] => [alert, expr])),
    ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }): [string, string] => [title, expr])),
    ...dashboard.templating.list
      .filter(({ type }) => type === 'query')
      .map(({ query }): [string, string] => ['variable', query]),
  ];
}

/** The labels of a metric by the catalogue, as a query names it; undefined: there is none of this name. */
function labelsOf(name: string): readonly string[] | undefined {
  const found = Object.values(METRICS).find((metric) => {
    const names =
      metric.type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => metric.name + end) : [metric.name];
    return names.some((each) => `wherry_${each}` === name);
  });
  return found?.labels;
}

const split = (list: string | undefined): string[] =>
  (list ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');

describe("the chart's alerts and dashboard", () => {
  const all = expressions();

  it('are there', () => {
    expect(all.length).toBeGreaterThan(10);
  });

  it.each(all)('use only metrics that a program exposes, and their labels: %s', (_where, expr) => {
    const selectors = [...expr.matchAll(/\b(wherry_\w+)(?:\{([^}]*)\})?/g)];
    expect(selectors).not.toEqual([]);
    const known: string[] = [...OF_THE_SCRAPE];
    for (const [, name = '', matchers = ''] of selectors) {
      const labels = labelsOf(name);
      expect([name, labels]).toEqual([name, expect.any(Array)]);
      known.push(...(labels ?? []));
      const used = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
      expect(used.filter((label) => labels?.includes(label) !== true)).toEqual([]);
    }
    const grouped = [...expr.matchAll(/\b(?:by|on|without|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, list]) =>
      split(list),
    );
    expect(grouped.filter((label) => !known.includes(label))).toEqual([]);
  });
});
