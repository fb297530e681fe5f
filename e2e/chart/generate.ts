/**
 * Writes the parts of the chart that come from elsewhere: its values in three forms, and the CustomResourceDefinitions.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chartCrd } from './chart-crd.ts';
import { valueList } from './value-list.ts';
import { valuesJsonSchema } from './values-json-schema.ts';
import { valuesPage } from './values-page.ts';
import { valuesYaml } from './values-yaml.ts';

const root = path.join(import.meta.dirname, '../..');
const write = (file: string, text: string): void => writeFileSync(path.join(root, file), text);

const values = valueList();
write('charts/wherry/values.yaml', valuesYaml(values));
write('charts/wherry/values.schema.json', `${JSON.stringify(valuesJsonSchema(), null, 2)}\n`);
write('docs/guides/kubernetes-values.md', valuesPage(values));

const generated = 'crds/generated';
for (const file of readdirSync(path.join(root, generated)).filter((name) => name.endsWith('.yaml'))) {
  write(`charts/wherry/files/crds/${file}`, chartCrd(readFileSync(path.join(root, generated, file), 'utf8')));
}
