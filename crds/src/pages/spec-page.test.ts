import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CONDITION_TYPES } from '@wherry/core/resources/conditions.ts';
import { ALL_KINDS } from '@wherry/core/resources/kinds.ts';
import { parse } from 'yaml';
import { schemasOf } from '../definition/custom-resource-definition.ts';
import { KIND_PRESENTATIONS } from '../definition/kind-presentation.ts';
import type { StructuralSchema } from '../schema/structural-schema.ts';
import { pageName, specPage } from './spec-page.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

/** Each reason with each type that docs/reference/conditions.md gives it. */
function documentedReasons(): string[] {
  const rows =
    read('docs/reference/conditions.md')
      .split('## Reasons')[1]
      ?.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm) ?? [];
  return [...rows].flatMap(([, reason, types]) =>
    [...(types ?? '').matchAll(/\w+/g)].map(([type]) => `${type}: ${reason}`),
  );
}

function fieldsOf(schema: StructuralSchema, path = ''): [string, StructuralSchema][] {
  const own = Object.entries(schema.properties ?? {}).map(([name, field]): [string, StructuralSchema] => [
    `${path}${name}`,
    field,
  ]);
  return own.flatMap(([name, field]) => [
    [name, field],
    ...fieldsOf(field, `${name}.`),
    ...(field.items === undefined ? [] : fieldsOf(field.items, `${name}[].`)),
  ]);
}

describe('the pages in docs/spec', () => {
  it.each(ALL_KINDS)('that of %s is the one that is generated, with its example', (kind) => {
    const example = read(`crds/examples/${pageName(kind)}.yaml`);
    expect(read(`docs/spec/${pageName(kind)}.md`)).toBe(specPage(kind, example));
    expect(parse(example)).toMatchObject({ apiVersion: 'wherry.dev/v1alpha1', kind });
  });

  it.each(ALL_KINDS)('every field of %s says what it means', (kind) => {
    const { spec, status } = schemasOf(kind);
    const silent = [...fieldsOf(spec), ...fieldsOf(status)].filter(([, field]) => field.description === undefined);
    expect(silent.map(([name]) => name)).toEqual([]);
  });

  it('list the conditions and reasons of docs/reference/conditions.md, each with a kind', () => {
    const documented = ALL_KINDS.flatMap((kind) =>
      Object.entries(KIND_PRESENTATIONS[kind].conditions).flatMap(([type, reasons]) =>
        reasons.map((reason) => `${type}: ${reason}`),
      ),
    );
    expect([...new Set(documented)].sort()).toEqual(documentedReasons().sort());
    expect(documented.every((line) => CONDITION_TYPES.some((type) => line.startsWith(`${type}: `)))).toBe(true);
  });
});
