// The import table of ARCHITECTURE.md, as errors: the parts point one way and have no cycle.

/** Each part and the parts that it may import. */
export const importTable = {
  core: [],
  testing: ['core'],
  service: ['core'],
  operator: ['core', 'service', 'content'],
  builder: ['core', 'service'],
  router: ['core', 'service'],
  'runtime-image': ['core', 'service'],
  manager: ['core', 'service', 'content'],
  content: ['core', 'service'],
  kube: ['core', 'service'],
  embedded: ['core', 'service', 'operator', 'builder', 'router', 'runtime-image', 'manager', 'content'],
  crds: ['core'],
  e2e: [],
};

const parts = [...Object.keys(importTable), 'bench'];
const anyPart = `^(${parts.join('|')})/`;
const tests = '\\.test\\.tsx?$';
/** Tests, and what exists for them alone: the part `testing/` and the folders of this name in every part. */
const testCode = `${tests}|(^|/)testing/`;
/**
 * What a cluster's programs may load beside, in their main.ts alone, and only with import(): Kubernetes' client takes
 * half a second.
 */
export const lazyParts = { operator: ['kube', 'builder'], manager: ['kube'] };

function importRule([part, allowed]) {
  const lazy = lazyParts[part] ?? [];
  const lazyRules = lazy.flatMap((other) => [
    {
      name: `${part}-loads-${other}-lazily`,
      comment: `Only ${part}/src/main.ts may import ${other}, and only with import().`,
      severity: 'error',
      from: { path: `^${part}/`, pathNot: testCode },
      to: { path: `^${other}/`, dependencyTypesNot: ['dynamic-import'] },
    },
    {
      name: `${part}-only-main-loads-${other}`,
      comment: `Only ${part}/src/main.ts, and tests against a real API server, may import ${other}.`,
      severity: 'error',
      from: { path: `^${part}/`, pathNot: `^${part}/src/main\\.ts$|${testCode}` },
      to: { path: `^${other}/` },
    },
  ]);
  // The tests of e2e see Wherry from outside, and nothing of its ports.
  const shared = part === 'e2e' ? [] : ['testing'];
  const reachable = [part, ...allowed, ...lazy, ...shared];
  return [
    {
      name: `${part}-imports`,
      comment: `${part} may import ${allowed.join(', ') || 'no other part'}.`,
      severity: 'error',
      from: { path: `^${part}/` },
      to: { path: anyPart, pathNot: `^(${reachable.join('|')})/` },
    },
    ...lazyRules,
  ];
}

export default {
  forbidden: [
    ...Object.entries(importTable).flatMap(importRule),
    {
      name: 'no-cycle',
      comment: 'Imports have no cycle, those of types included.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'unresolved',
      comment: 'The import leads nowhere; what is not resolved is not checked either.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'unlisted-package',
      comment: 'Name the package in the package.json of the part that imports it.',
      severity: 'error',
      from: { pathNot: `${tests}|^e2e/tooling/|^[^/]+$` },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'dev-package-in-product',
      comment: 'What runs in production comes from `dependencies`, not from `devDependencies`.',
      severity: 'error',
      from: { path: '^[^/]+/src/', pathNot: testCode },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'], pathNot: 'node_modules/@types/' },
    },
    {
      name: 'test-support-in-product',
      comment: 'Only tests, their support, e2e and bench import @wherry/testing or a folder testing/.',
      severity: 'error',
      from: { pathNot: `${testCode}|^(e2e|bench)/` },
      to: { path: '(^|/)testing/' },
    },
    {
      name: 'part-by-relative-path',
      comment: 'Import another part by its package name (@wherry/core/…), so that its exports hold.',
      severity: 'error',
      from: { path: anyPart },
      to: { path: anyPart, pathNot: '^$1/', dependencyTypes: ['local'] },
    },
    {
      name: 'core-packages',
      comment: 'core imports zod and no other package.',
      severity: 'error',
      from: { path: '^core/src/', pathNot: testCode },
      to: { path: 'node_modules/', pathNot: 'node_modules/zod/' },
    },
    {
      name: 'core-is-pure',
      comment: "core does no I/O and has no timers: of Node's modules only the pure ones.",
      severity: 'error',
      from: { path: '^core/src/', pathNot: testCode },
      to: {
        dependencyTypes: ['core'],
        pathNot: '^(node:)?(assert|buffer|crypto|querystring|string_decoder|url|util)$',
      },
    },
    {
      name: 'test-in-product',
      comment: 'Only tests import tests.',
      severity: 'error',
      from: { pathNot: tests },
      to: { path: tests },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    // Handlers that e2e deploys: their packages are not installed here.
    exclude: { path: '^e2e/package-matrix/fixtures/' },
    combinedDependencies: false,
    builtInModules: { add: ['node:sqlite', 'node:test', 'node:sea'] },
    enhancedResolveOptions: { conditionNames: ['import', 'types', 'node', 'default'], exportsFields: ['exports'] },
  },
};
