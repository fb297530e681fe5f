import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { BUILD_LIMITS } from '@wherry/builder/build-process/create-process-builder.ts';
import { UNPACK_LIMITS } from '@wherry/builder/packages/unpack-tarball.ts';
import { functionSpecSchema } from '@wherry/core/resources/function.ts';
import { SETTINGS, type SettingDefinition } from '@wherry/core/settings-definitions.ts';
import { MANAGER_LIMITS } from '@wherry/manager/limits.ts';
import { LOG_RATE } from '@wherry/operator/feed/log-rate.ts';
import { ROUTER_LIMITS } from '@wherry/router/limits.ts';
import { z } from 'zod';
import { limitsPage } from './limits/limits-page.ts';

const folder = path.join(import.meta.dirname, 'limits');
const rows = globSync('*.ts', { cwd: folder })
  .map((file) => readFileSync(path.join(folder, file), 'utf8'))
  .join('\n');
const page = limitsPage();

interface Node {
  type?: string;
  anyOf?: Node[];
  properties?: Record<string, Node>;
}

/** The paths of all numbers in a schema. */
function numbersIn({ properties = {} }: Node, prefix = ''): string[] {
  return Object.entries(properties).flatMap(([name, node]) => {
    const { type } = node.anyOf?.[0] ?? node;
    return type === 'integer' ? [`${prefix}${name}`] : numbersIn(node, `${prefix}${name}.`);
  });
}

describe('docs/reference/limits.md', () => {
  it.each(Object.entries({ ROUTER_LIMITS, MANAGER_LIMITS, BUILD_LIMITS, UNPACK_LIMITS, LOG_RATE }))(
    'has a row of every limit in %s',
    (table, limits) => {
      expect(Object.keys(limits).filter((name) => !new RegExp(`\\b${table}\\.${name}\\b`).test(rows))).toEqual([]);
    },
  );

  it('has a row of every setting that is a number', () => {
    const names = Object.entries<SettingDefinition>(SETTINGS).flatMap(([name, { range }]) => (range ? [name] : []));
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !page.includes(`setting \`${name}\``))).toEqual([]);
  });

  it('has a row of every field of a function that is a number', () => {
    const fields = numbersIn(z.toJSONSchema(functionSpecSchema, { io: 'input', unrepresentable: 'any' }) as Node);
    expect(fields).toContain('scaling.minReplicas');
    expect(fields.filter((field) => !page.includes(`field \`${field}\``))).toEqual([]);
  });
});
