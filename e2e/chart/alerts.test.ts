import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse as parseYaml, stringify } from 'yaml';
import { mustRun } from '../cluster/command.ts';
import { everything, render, type Rendered } from './helm.ts';

interface Rule {
  alert: string;
  annotations: Record<string, string>;
}

/** Series of which one is wrong for each alert, and when it fires. */
const CASES = path.join(import.meta.dirname, 'alert-cases.yaml');

describe('the alerts of the chart', () => {
  let folder: string;
  let objects: Rendered[];
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wherry-alerts-'));
    objects = await render('-f', everything);
    await writeFile(path.join(folder, 'alerts.yaml'), stringify(rules()));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const rules = (): { groups: { rules: Rule[] }[] } =>
    objects.find(({ kind }) => kind === 'PrometheusRule')?.['spec'] as { groups: { rules: Rule[] }[] };

  it('are as promtool wants them', async () => {
    expect(await mustRun('promtool', ['check', 'rules', path.join(folder, 'alerts.yaml')], {})).toMatch(
      /SUCCESS: \d+ rules found/,
    );
  });

  it('fire for what is wrong, and for nothing else', async () => {
    const cases = parseYaml(readFileSync(CASES, 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: { exp_annotations: unknown }[] }[] }[];
    };
    const tested = new Set(
      cases.tests.flatMap(({ alert_rule_test }) =>
        alert_rule_test.flatMap(({ alertname, exp_alerts }) => (exp_alerts === undefined ? [] : [alertname])),
      ),
    );
    expect([...tested].sort()).toEqual(
      rules()
        .groups.flatMap((group) => group.rules.map(({ alert }) => alert))
        .sort(),
    );
    await writeFile(path.join(folder, 'cases.yaml'), readFileSync(CASES, 'utf8'));
    expect(await mustRun('promtool', ['test', 'rules', path.join(folder, 'cases.yaml')], {})).toContain('SUCCESS');
  });

  it('and the dashboard are rendered only where they are switched on, the latter with the label of its sidecar', async () => {
    const kinds = (rendered: readonly Rendered[]): string[] =>
      rendered
        .filter(({ kind, metadata }) => kind === 'PrometheusRule' || metadata.name.endsWith('-dashboard'))
        .map(({ kind }) => kind)
        .sort();
    expect(kinds(await render())).toEqual([]);
    expect(kinds(objects)).toEqual(['ConfigMap', 'PrometheusRule']);
    const dashboard = objects.find(({ metadata }) => metadata.name.endsWith('-dashboard'));
    expect(dashboard?.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    const { panels } = JSON.parse((dashboard?.['data'] as Record<string, string>)['wherry.json'] ?? '') as {
      panels: unknown[];
    };
    expect(panels.length).toBeGreaterThan(5);
  });
});
