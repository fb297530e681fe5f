// The rules of CONTRIBUTING.md ("How the code reads"), as errors. The import table lives in .dependency-cruiser.js.
import path from 'node:path';
import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const tests = ['**/*.test.{ts,tsx}', 'testing/src/**'];
const support = ['**/testing/**'];
const tools = ['e2e/**', 'bench/**'];
/**
 * Handlers that e2e deploys: our code, as much as the tests. What lies beside them and is no code is a test's input.
 */
const handlers = ['e2e/package-matrix/fixtures/**'];
const configs = ['*.{js,mjs,ts}', '**/*.config.{js,mjs,ts}', '.dependency-cruiser.js'];

/** Files are named after their main export, in kebab-case; an `index.ts` would be a barrel. */
const fileName = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      case: "Name the file in kebab-case: '{{name}}' should be '{{wanted}}'.",
      barrel: 'No barrel files: name the file after its main export and import it by that name.',
    },
  },
  create(context) {
    const name = path.basename(context.filename);
    const wanted = name
      .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
      .replace(/[_ ]/g, '-')
      .toLowerCase();
    return {
      Program(node) {
        if (/^index\.[cm]?[jt]sx?$/.test(name)) context.report({ node, messageId: 'barrel' });
        else if (name !== wanted) context.report({ node, messageId: 'case', data: { name, wanted } });
      },
    };
  },
};

const shape = {
  // Names and paths are checked for control characters here: such a pattern is meant.
  'no-control-regex': 'off',
  'wherry/file-name': 'error',
  complexity: ['error', { max: 10, variant: 'modified' }],
  eqeqeq: 'error',
  'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
  'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
  'max-params': ['error', 4],
  'no-console': 'error',
  'no-restricted-exports': [
    'error',
    {
      restrictDefaultExports: {
        direct: true,
        named: true,
        defaultFrom: true,
        namedFrom: true,
        namespaceFrom: true,
      },
    },
  ],
  'no-restricted-properties': [
    'error',
    { object: 'process', property: 'env', message: "Only a program's config.ts reads the environment." },
  ],
  'no-restricted-imports': [
    'error',
    {
      paths: [
        { name: 'node:process', importNames: ['env'], message: "Only a program's config.ts reads the environment." },
        { name: 'process', message: 'Write node:process.' },
      ],
    },
  ],
  'no-var': 'error',
  'object-shorthand': 'error',
  'prefer-const': 'error',
};

const examplesInTests = {
  'no-restricted-imports': [
    'error',
    { name: 'fast-check', message: 'Import @wherry/testing/properties.ts, whose examples are the same in each run.' },
  ],
};

const typed = {
  '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
  '@typescript-eslint/no-explicit-any': 'error',
  '@typescript-eslint/no-floating-promises': 'error',
  '@typescript-eslint/no-misused-promises': 'error',
  '@typescript-eslint/no-non-null-assertion': 'error',
  '@typescript-eslint/no-unused-vars': [
    'error',
    { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
  ],
  '@typescript-eslint/only-throw-error': 'error',
  '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
  '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
  // A number or a flag in a text says what it means; objects, null and undefined do not.
  '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
  // An implementation of a port is async because the port is.
  '@typescript-eslint/require-await': 'off',
};

/** A loop that looks again and again may pause. */
const notInLoop =
  'ExpressionStatement:not(:matches(WhileStatement, DoWhileStatement, ForStatement) ExpressionStatement)';

/** A test awaits what it asserts, and measures limits in machineTime(): a busy core changes neither. */
const timeInTests = [
  {
    selector:
      "CallExpression[callee.property.name=/^toBeLessThan/] > MemberExpression > CallExpression > BinaryExpression[operator='-'] > CallExpression[callee.property.name='now']",
    message: 'An upper limit of the clock is missed on a busy core: measure it with machineTime().',
  },
  {
    selector: `${notInLoop} > AwaitExpression > NewExpression[callee.name='Promise'] CallExpression[callee.name='setTimeout']`,
    message: 'Await what is to come (eventually, once), not a time.',
  },
  {
    selector: `${notInLoop} > AwaitExpression > CallExpression[callee.object.name='systemClock'][callee.property.name='sleep']`,
    message: 'Await what is to come (eventually, once), not a time.',
  },
];

/** Pure code: time, sockets and the process come in as arguments. */
const pureGlobals = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
  'fetch',
  'WebSocket',
  'EventSource',
  'process',
  'require',
].map((name) => ({ name, message: 'core is pure: no I/O, no timers, no environment.' }));

export default defineConfig(
  globalIgnores(['**/node_modules/', '**/dist/', 'coverage/', 'data/', '.cache/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  // What TypeScript checks itself (an undefined name) is switched off again by the next entry.
  { files: ['**/*.{ts,tsx,js,mjs}'], extends: [js.configs.recommended] },
  { files: ['**/*.{js,mjs}'], rules: { 'no-undef': 'off' } },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: typed,
  },
  {
    files: ['**/*.{ts,tsx,js,mjs}'],
    plugins: { wherry: { rules: { 'file-name': fileName } } },
    rules: shape,
  },
  {
    files: ['core/src/**'],
    ignores: tests,
    rules: {
      'no-restricted-globals': ['error', ...pureGlobals],
      'no-restricted-properties': ['error', { object: 'Date', property: 'now', message: 'Take a Clock.' }],
      'no-restricted-syntax': [
        'error',
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Take a Clock.' },
      ],
    },
  },
  { files: ['**/config.ts'], rules: { 'no-restricted-properties': 'off', 'no-restricted-imports': 'off' } },
  {
    files: [...tests, ...support, ...tools, ...configs],
    rules: { 'no-console': 'off', 'no-restricted-properties': 'off', 'no-restricted-imports': 'off' },
  },
  { files: [...tests, ...support], rules: { 'no-restricted-syntax': ['error', ...timeInTests] } },
  { files: [...tests, ...support], ignores: ['testing/src/properties.ts'], rules: examplesInTests },
  {
    files: tests,
    rules: {
      // A describe block is a list, and a test reads from top to bottom.
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    // A black-box test reads whatever the service answers.
    files: ['e2e/testing/**', 'e2e/specification/**', 'e2e/suites/**', 'e2e/cluster-suites/**', 'bench/**'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  // A handler is a default export, and what it prints is its log.
  { files: [...handlers, 'examples/**'], rules: { 'no-console': 'off', 'no-restricted-exports': 'off' } },
  // Their packages come from the registry when Wherry builds them, so no types of theirs are here to check against.
  { files: handlers, extends: [tseslint.configs.disableTypeChecked] },
  // jest and the linters take their configuration and their runner as default exports.
  {
    files: [...configs, 'e2e/tooling/jest-runner.js', 'e2e/tooling/slowest-files.js'],
    rules: { 'no-restricted-exports': 'off' },
  },
);
