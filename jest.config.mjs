// jest-light-runner runs the tests in bare Node (native ES modules and TypeScript). In child processes and not in
// worker threads, where signals, umask and chdir are missing and a test's process.exit() hangs the whole run.
// It knows no testTimeout: e2e/tooling/jest-setup.ts gives every test its deadline.
export default {
  runner: '<rootDir>/e2e/tooling/jest-runner.js',
  reporters: ['default', '<rootDir>/e2e/tooling/slowest-files.js'],
  testMatch: ['**/*.test.ts', '**/*.test.tsx'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  moduleFileExtensions: ['ts', 'tsx', 'js', 'mjs', 'cjs', 'json'],
  transform: {},
  setupFilesAfterEnv: ['<rootDir>/e2e/tooling/jest-setup.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/data/', '<rootDir>/.cache/'],
  modulePathIgnorePatterns: ['<rootDir>/e2e/package-matrix/fixtures/', '<rootDir>/data/', '<rootDir>/.cache/'],
  // On two cores: most of the long files wait for leases, deadlines and pods.
  maxWorkers: 3,
  watchman: false,
};
