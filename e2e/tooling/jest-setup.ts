/**
 * Gives back to jest-light-runner what it leaves out of jest: a deadline for each test and hook (it would wait for
 * ever), failures for `it.todo` and `it.failing` (it would count both as passed), and hooks whose failure fails the
 * tests that they are for, without running them (it would run them). No test starts a process in the repository.
 */
import { addEventHandler } from 'jest-circus';
import { withDeadline, type Runnable } from './deadline.ts';
import { refuseProcessesIn } from './guard-repository.ts';
import { machineTime } from './machine-time.ts';
import { HookChain, type Block, type CircusEvent } from './hook-chain.ts';
import { root } from './run-command.ts';

const DEFAULT_TIMEOUT_MILLISECONDS = 20_000;
/** Against a cluster the same suites wait for pods. */
const PATIENCE = process.env.WHERRY_TEST_CLUSTER === undefined ? 1 : 4;

const chain = new HookChain();
refuseProcessesIn(root);
globalThis.machineTime = machineTime;

function bounded(fn: (...args: never[]) => unknown, timeout: number | null | undefined): Runnable {
  if (fn.length > 0) throw new Error('a test or hook takes no `done` callback here: return a promise');
  return withDeadline(fn as Runnable, PATIENCE * (timeout ?? DEFAULT_TIMEOUT_MILLISECONDS));
}

function addTest(block: Block, { fn, mode, failing, timeout }: CircusEvent & { name: 'add_test' }): void {
  const test = block.children.at(-1);
  if (test?.type !== 'test') return;
  const body = bounded(fn, timeout);
  if (mode === 'todo') test.fn = () => Promise.reject(new Error('todo: write this test'));
  else if (failing) test.fn = () => Promise.reject(new Error('it.failing is not supported here'));
  else test.fn = () => chain.run(block, body);
}

addEventHandler((event, { currentDescribeBlock: block }) => {
  if (event.name === 'add_test') addTest(block, event);
  // The chain runs it instead of the runner; only the runner knows what follows a block's last test.
  else if (event.name === 'add_hook') {
    block.hooks.pop();
    const run = chain.add(block, event.hookType, bounded(event.fn, event.timeout));
    if (run !== undefined) block.hooks.push({ type: event.hookType, fn: run } as Block['hooks'][number]);
  }
});
