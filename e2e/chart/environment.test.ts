import { readFileSync } from 'node:fs';
import path from 'node:path';
import { everything, render } from './helm.ts';

/** The variables that a program's configuration declares. */
function declared(program: string): string[] {
  const text = readFileSync(path.join(import.meta.dirname, '../..', program, 'src/config.ts'), 'utf8');
  return [...text.matchAll(/^ {2}([A-Z][A-Z_]+): /gm)].map(([, name]) => name ?? '');
}

// A variable that nobody reads would be a value that does nothing. docs/reference/config.md is compared with the same
// files.
it.each(['operator', 'builder', 'installer', 'router', 'manager'])(
  'every variable that the chart sets for the %s is one that it reads',
  async (program) => {
    const part = program === 'installer' ? 'builder' : program;
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
    expect(set.filter((name) => !['NODE_OPTIONS', 'TZ', ...declared(part)].includes(name))).toEqual([]);
  },
);
