import type { Value } from './value-list.ts';

/** docs/guides/kubernetes-values.md: a table for each group of values. */
export function valuesPage(values: readonly Value[]): string {
  const single = values.filter(({ members }) => members === undefined);
  const groups = values.filter(({ members }) => members !== undefined);
  return [
    '# Values of the Helm chart',
    '',
    'What `helm install --set name=value` or `-f my-values.yaml` takes. An unknown value is rejected, and so is one',
    'of the wrong form. [How to install](kubernetes.md).',
    '',
    'This page is generated from `e2e/chart/values-schema.ts`.',
    '',
    ...table(single),
    ...groups.flatMap((group) => [
      '',
      `## ${group.path.join('.')}`,
      '',
      group.description,
      '',
      ...table(leaves(group)),
    ]),
    '',
  ].join('\n');
}

function table(values: readonly Value[]): string[] {
  return ['| Value | Default | What it does |', '|---|---|---|', ...values.map(row)];
}

function row({ path, description, default: byDefault, choices = [] }: Value): string {
  const several = choices.length > 1 ? ` One of ${choices.map((choice) => `\`${choice || '""'}\``).join(', ')}.` : '';
  return `| \`${path.join('.')}\` | \`${JSON.stringify(byDefault)}\` | ${description}${several} |`;
}

const leaves = (value: Value): Value[] => value.members?.flatMap(leaves) ?? [value];
