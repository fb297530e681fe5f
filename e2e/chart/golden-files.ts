import path from 'node:path';
import { stringify } from 'yaml';
import { everything, render, type Rendered } from './helm.ts';

/** A file that holds what the chart renders of some values, for people to read and for tests to compare. */
interface GoldenFile {
  name: string;
  text: () => Promise<string>;
}

export const goldenFolder = path.join(import.meta.dirname, 'golden');

const isRbac = ({ apiVersion }: Rendered): boolean => apiVersion.startsWith('rbac.authorization.k8s.io/');
/** Those are compared where they are generated. */
const isCrd = ({ kind }: Rendered): boolean => kind === 'CustomResourceDefinition';
const inYaml = (objects: readonly Rendered[]): string =>
  objects
    .map((object) => `---\n${stringify(object, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false })}`)
    .join('');

export const goldenFiles: readonly GoldenFile[] = [
  {
    name: 'default.yaml',
    text: async () => inYaml((await render()).filter((object) => !isCrd(object) && !isRbac(object))),
  },
  {
    name: 'everything.yaml',
    text: async () => inYaml((await render('-f', everything)).filter((object) => !isCrd(object) && !isRbac(object))),
  },
  { name: 'rbac.yaml', text: async () => inYaml((await render()).filter(isRbac)) },
];
