/**
 * `npm run stress -- [times] [paths]`: runs the test files whose paths match, all but the cluster's without paths,
 * three times unless specified otherwise, beside processes that keep every core busy; and prints which tests failed how
 * often. Properties have other examples each time.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { prepareKubernetesPrograms } from './cluster-steps.ts';
import type { JestResults } from './count-results.ts';
import { failuresOf, tally } from './failures.ts';
import { runCommand } from './run-command.ts';

const DEFAULT_TIMES = 3;

/** Every core has one that never pauses. */
function startLoad(): ChildProcess[] {
  return Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
}

async function runOnce(paths: readonly string[]): Promise<string[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-stress-'));
  const outputFile = path.join(folder, 'results.json');
  try {
    const others = paths.length === 0 ? ['--testPathIgnorePatterns', '/node_modules/', '/cluster-suites/'] : paths;
    await runCommand('jest', ['--ci', '--silent', '--json', `--outputFile=${outputFile}`, ...others]);
    return failuresOf(JSON.parse(readFileSync(outputFile, 'utf8')) as JestResults);
  } catch (error) {
    return [`jest left no results: ${String(error)}`];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(args: readonly string[]): Promise<void> {
  const hasTimes = /^\d+$/.test(args[0] ?? '');
  const times = hasTimes ? Number(args[0]) : DEFAULT_TIMES;
  const paths = hasTimes ? args.slice(1) : args;
  process.env.WHERRY_TEST_SEEDS = 'random';
  await prepareKubernetesPrograms('cluster');
  const load = startLoad();
  const failures: string[] = [];
  try {
    for (let time = 1; time <= times; time += 1) {
      console.log(`\n== ${time} of ${times}`);
      failures.push(...(await runOnce(paths)));
    }
  } finally {
    for (const busy of load) busy.kill('SIGKILL');
  }
  const lines = tally(failures).map(([failure, count]) => `${count} of ${times}: ${failure}`);
  console.log(['', ...lines, `${lines.length} tests failed in ${times} runs`].join('\n'));
  process.exitCode = lines.length === 0 ? 0 : 1;
}

await main(process.argv.slice(2));
