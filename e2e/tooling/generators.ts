/** A program that writes files which are committed. */
export interface Generator {
  name: string;
  /** The TypeScript file that Node runs at the root; it writes its outputs in place. */
  program: string;
  /** The files that it writes, relative to the root. */
  outputs: readonly string[];
}

const plurals = ['functions', 'codesources', 'keygroups', 'apikeys', 'functionsecrets', 'settings'];

/** Everything that `npm run verify` regenerates, in this order: the chart takes the CustomResourceDefinitions in. */
export const generators: readonly Generator[] = [
  {
    name: 'CustomResourceDefinitions',
    program: 'crds/src/generate.ts',
    outputs: [
      ...plurals.map((plural) => `crds/generated/${plural}.wherry.dev.yaml`),
      ...['function', 'code-source', 'key-group', 'api-key', 'function-secret', 'settings'].map(
        (kind) => `docs/spec/${kind}.md`,
      ),
    ],
  },
  {
    name: 'Helm chart',
    program: 'e2e/chart/generate.ts',
    outputs: [
      'charts/wherry/values.yaml',
      'charts/wherry/values.schema.json',
      'docs/guides/kubernetes-values.md',
      ...plurals.map((plural) => `charts/wherry/files/crds/${plural}.wherry.dev.yaml`),
    ],
  },
  { name: 'engines in the lock', program: 'e2e/tooling/lock-engines.ts', outputs: ['package-lock.json'] },
  {
    name: 'page of limits',
    program: 'embedded/src/reference/generate-limits.ts',
    outputs: ['docs/reference/limits.md'],
  },
  { name: 'OpenAPI document', program: 'manager/src/openapi/generate.ts', outputs: ['docs/reference/openapi.json'] },
];
