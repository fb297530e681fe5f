/**
 * Runs test files in processes of their own making, each in bare Node by jest-light-runner's code for it. Its own pool
 * of processes (tinypool) now and then lost a file, and the run then waited for ever: here a file has a deadline, a
 * process that misses it or dies is replaced, and what it was doing is reported.
 */
import { fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import path from 'node:path';
import { TEST_CLUSTER } from '../cluster/test-cluster.ts';
import { announcedCluster, withoutCluster } from './announced-cluster.ts';
import { needsCluster } from './needs-cluster.ts';
import { compileCache } from './run-command.ts';
import { keepDurations, longestFirst, readDurations } from './test-durations.ts';

/** The longest file, the package matrix, takes seven minutes on two cores, and twice as long beside other work. */
const FILE_DEADLINE_MS = 20 * 60_000;
/** For a report of a process that hangs. */
const REPORT_MS = 2000;
/** The niceness of what runs beside a cluster. */
const BESIDE_THE_CLUSTER = 5;
const CHILD = path.join(import.meta.dirname, 'jest-child.js');

export default class ProcessRunner {
  #globalConfig;

  constructor(globalConfig) {
    this.#globalConfig = globalConfig;
  }

  async runTests(tests, ...[, onStart, onResult, onFailure]) {
    const { rootDir, maxWorkers } = this.#globalConfig;
    const nameOf = (test) => path.relative(rootDir, test.path);
    const byName = new Map(tests.map((test) => [nameOf(test), test]));
    // The suites on a cluster keep the order that they were given.
    const onCluster = [...byName.keys()].filter(needsCluster);
    const others = longestFirst([...byName.keys()], readDurations()).filter((name) => !needsCluster(name));
    const durations = new Map();
    const runAll = async (next, lane) => {
      for (let name = next(); name !== undefined; name = next()) {
        const test = byName.get(name);
        await onStart(test);
        const begun = performance.now();
        await lane.run(test).then(
          (result) => onResult(test, result),
          (error) => onFailure(test, error),
        );
        durations.set(name, Math.round(performance.now() - begun));
      }
      lane.end();
    };
    const withNone = withoutCluster(process.env);
    const hasCluster = onCluster.length > 0;
    const laneOf = (index, env) =>
      new Lane(this.#globalConfig, { index, env, nice: hasCluster && !(TEST_CLUSTER in env) });
    /** Those that count the cluster's objects and restart its programs: one after the other. */
    const runOnCluster = async (index) => {
      const cluster = announcedCluster(process.env);
      // While it comes up, the shortest of the others: then its suites wait for none of them.
      await runAll(() => (cluster.isComing() ? others.pop() : undefined), laneOf(index, withNone));
      const env = await cluster.environment();
      if (env === undefined) for (const name of onCluster.splice(0)) await onFailure(byName.get(name), NO_CLUSTER);
      else await runAll(() => onCluster.shift(), laneOf(index, env));
    };
    const lanes = Array.from({ length: Math.min(maxWorkers, tests.length) }, async (_, lane) => {
      const index = lane + 1;
      if (lane === 0 && hasCluster) await runOnCluster(index);
      await runAll(() => others.shift(), laneOf(index, withNone));
    });
    await Promise.all(lanes);
    keepDurations(durations);
  }
}

/** One process after the other, each for as many files as it survives. */
class Lane {
  #globalConfig;
  #index;
  #environment;
  #nice;
  #child;

  constructor(globalConfig, { index, env, nice }) {
    this.#globalConfig = globalConfig;
    this.#index = index;
    this.#environment = env;
    this.#nice = nice;
  }

  async run(test) {
    this.#child ??= this.#start(test.context.config);
    const child = this.#child;
    const { promise, resolve, reject } = Promise.withResolvers();
    const onMessage = (message) => (message.error === undefined ? resolve(message.result) : reject(message.error));
    const onExit = (code, signal) => reject(failure(`The process of the tests ended (${signal ?? `code ${code}`}).`));
    const late = setTimeout(() => void this.#giveUp(child).then(reject), FILE_DEADLINE_MS);
    child.process.on('message', onMessage).on('exit', onExit);
    child.process.send({ path: test.path });
    try {
      return await promise;
    } catch (error) {
      // It may be in any state.
      this.end();
      throw error;
    } finally {
      clearTimeout(late);
      child.process.off('message', onMessage).off('exit', onExit);
    }
  }

  end() {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    killAll(child.process);
    rmSync(child.folder, { recursive: true, force: true });
  }

  #start(projectConfig) {
    const folder = mkdtempSync(path.join(tmpdir(), 'wherry-jest-'));
    const reports = path.join(folder, 'reports');
    const work = path.join(folder, 'work');
    for (const name of [reports, work]) mkdirSync(name);
    const execArgv = [
      '--report-on-signal',
      '--report-signal=SIGUSR2',
      `--report-directory=${reports}`,
      '--report-exclude-env',
    ];
    const env = { ...this.#environment, ...compileCache, JEST_WORKER_ID: String(this.#index) };
    // An empty folder to work in: what a test writes or starts without naming a folder never touches the repository.
    // And a process group of its own, so that what a test leaves running ends with it.
    const child = fork(CHILD, {
      cwd: work,
      detached: true,
      execArgv,
      env,
      serialization: 'json',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    // The suites on a cluster make the run long: the others take what they leave of the cores.
    if (this.#nice && child.pid !== undefined) setPriority(child.pid, BESIDE_THE_CLUSTER);
    child.send({ workerData: { globalConfig: this.#globalConfig, projectConfig, runtime: 'child_process' } });
    return { process: child, folder, reports };
  }

  async #giveUp(child) {
    child.process.kill('SIGUSR2');
    await new Promise((resolve) => setTimeout(resolve, REPORT_MS));
    return failure(`Not done after ${FILE_DEADLINE_MS / 60_000} minutes.\n${whatItDid(child.reports)}`);
  }
}

const failure = (message) => ({ message, stack: message });
const NO_CLUSTER = failure('The cluster did not come up.');

/** The process, and what it started, unless that has a group of its own. */
function killAll({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * Where it stood and what it waited for, from Node's own report; none from a process whose event loop is blocked in
 * C++.
 */
function whatItDid(folder) {
  const [file] = readdirSync(folder);
  if (file === undefined) return 'It gave no report.';
  const { javascriptStack, libuv } = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
  const waits = libuv.filter((handle) => handle.is_active && handle.is_referenced);
  return JSON.stringify({ stack: javascriptStack.stack, waits }, undefined, 1);
}
