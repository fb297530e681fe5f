/**
 * `npm test`: installs what the tests need from the system, and runs verify, which writes files that all else reads.
 * Then everything begins at once: the type check and lint, a Kubernetes, and jest, one of whose three lanes runs the
 * suites that need that one as soon as it is up (jest-runner.js): they make the run long, so nothing else is waited for.
 * `npm test -- router …` runs the test files alone whose paths match. The last line of the output is always
 * `N passed, N failed`: each jest test counts, and each other step counts as one.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { prepareKubernetesPrograms, withTestCluster } from './cluster-steps.ts';
import { countResults } from './count-results.ts';
import type { Counts, JestResults } from './count-results.ts';
import { installPackages } from './install-packages.ts';
import { needsCluster } from './needs-cluster.ts';
import { systemPackages } from './packages.ts';
import { root, runCommand, toolEnvironment } from './run-command.ts';

/** Longer than a test file may take (jest-runner.js), which prints its line at its end: the runner says what hung. */
const SILENCE_MINUTES = 25;

type Step = { name: string; run: () => Promise<Counts> };

/** Beside the tests it takes what they leave of the cores. */
async function runChecked(command: string, args: string[]): Promise<Counts> {
  const good = (await runCommand('nice', [command, ...args])) === 0;
  return { passed: good ? 1 : 0, failed: good ? 0 : 1, remarks: [] };
}

async function runJest(options: readonly string[]): Promise<Counts> {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-jest-'));
  const outputFile = path.join(folder, 'results.json');
  try {
    const code = await runCommand(
      'jest',
      // Silent: without a last line of 30 KB, the paths of all files. What tests print is printed all the same.
      ['--ci', '--silent', '--json', `--outputFile=${outputFile}`, ...options],
      SILENCE_MINUTES,
    );
    const counts = readResults(outputFile);
    if (code !== 0 && counts.failed === 0) {
      return { ...counts, failed: 1, remarks: [...counts.remarks, `jest ended with code ${code}`] };
    }
    return counts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readResults(file: string): Counts {
  try {
    return countResults(JSON.parse(readFileSync(file, 'utf8')) as JestResults);
  } catch (error) {
    return { passed: 0, failed: 1, remarks: [`jest left no results: ${String(error)}`] };
  }
}

/** Stages, one after the other. The rows of a stage run side by side, each a step after the other. */
async function stagesOf(paths: readonly string[]): Promise<Step[][][]> {
  const files = await testFiles(paths);
  const checks: Step[] = [
    { name: 'type check', run: () => runChecked('tsc', ['--noEmit', '-p', '.']) },
    { name: 'lint', run: () => runChecked('node', ['e2e/tooling/lint.ts']) },
  ];
  const verify: Step = { name: 'verify', run: () => runChecked('node', ['e2e/tooling/verify.ts']) };
  const programs: Step = { name: 'Kubernetes programs', run: () => prepareKubernetesPrograms('cluster') };
  const runTests = (): Promise<Counts> => runJest(files.length === 0 ? paths : ['--runTestsByPath', ...files]);
  const tests: Step = {
    name: 'tests',
    run: () => (files.some(needsCluster) ? withTestCluster(runTests) : runTests()),
  };
  const isWhole = paths.length === 0;
  const first = [...(files.some(needsPrograms) ? [programs] : []), ...(isWhole ? [verify] : [])];
  return [[first], [isWhole ? checks : [], [tests]]];
}

/** The test files whose paths match, relative to the root; all of them without paths. */
async function testFiles(paths: readonly string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)('jest', ['--listTests', ...paths], {
    cwd: root,
    env: toolEnvironment(),
  });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((file) => path.relative(root, file));
}

/** Those parts have tests on a real API server, or on the chart as helm renders it. */
function needsPrograms(file: string): boolean {
  return needsCluster(file) || /^(kube|crds|operator|manager|e2e\/chart|e2e\/cluster)\//.test(file);
}

async function runStep({ name, run }: Step): Promise<Counts> {
  const start = performance.now();
  console.log(`\n== ${name}`);
  const counts = await run();
  for (const remark of counts.remarks) console.log(remark);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`== ${name}: ${counts.failed === 0 ? 'ok' : 'FAILED'} in ${seconds} s`);
  return counts;
}

async function runInTurn(steps: readonly Step[]): Promise<Counts[]> {
  const results: Counts[] = [];
  for (const step of steps) results.push(await runStep(step));
  return results;
}

async function main(paths: readonly string[]): Promise<void> {
  const results: Counts[] = [];
  if (paths.some((argument) => argument.startsWith('-'))) {
    console.error("npm test takes paths only. For jest's options: npm exec -- jest <options>");
    results.push({ passed: 0, failed: 1, remarks: [] });
  } else if (await installPackages(systemPackages)) {
    for (const rows of await stagesOf(paths)) results.push(...(await Promise.all(rows.map(runInTurn))).flat());
  } else {
    results.push({ passed: 0, failed: 1, remarks: [] });
  }
  const sum = (key: 'passed' | 'failed'): number => results.reduce((total, counts) => total + counts[key], 0);
  process.exitCode = sum('failed') === 0 ? 0 : 1;
  console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`);
}

await main(process.argv.slice(2));
