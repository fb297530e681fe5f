import { readFileSync } from 'node:fs';
import path from 'node:path';
import { everything, render } from './helm.ts';

const page = readFileSync(path.join(import.meta.dirname, '../../docs/reference/config.md'), 'utf8');

/** The variables of a program, as the reference lists them: a test of its own compares it with the program. */
function documented(program: string): string[] {
  const section = page.split('\n## ').find((text) => text.startsWith(`The ${program}\n`)) ?? '';
  return [...section.matchAll(/^\| `([A-Z][A-Z_]+)` \|/gm)].map(([, name]) => name ?? '');
}

// A variable that nothing reads would be a value without effect.
it.each(['operator', 'builder', 'installer', 'router', 'manager'])(
  'every variable that the chart sets for the %s is one that it reads',
  async (program) => {
    const containers = (await render('-f', everything))
      .filter(({ kind }) => kind === 'Deployment')
      .flatMap(
        ({ spec }) =>
          (spec as { template: { spec: { containers: { name: string; env: { name: string }[] }[] } } }).template.spec
            .containers,
      );
    const set = containers.find(({ name }) => name === program)?.env.map(({ name }) => name) ?? [];
    expect(set.length).toBeGreaterThan(3);
    // Node's own, from `env` of the values.
    expect(set.filter((name) => !['NODE_OPTIONS', 'TZ', ...documented(program)].includes(name))).toEqual([]);
  },
);
