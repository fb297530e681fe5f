/**
 * Gives back to jest-light-runner what it leaves out of jest: a deadline for each test and hook (it would wait for
 * ever), and failures for `it.todo` and `it.failing` (it would count both as passed).
 */
import { addEventHandler } from "jest-circus";

const DEFAULT_TIMEOUT_MILLISECONDS = 20_000;
/** Against a cluster the same suites wait for pods. */
const PATIENCE = process.env.WHERRY_TEST_CLUSTER === undefined ? 1 : 4;

// Kept before any test can put jest's fake timers in their place.
const { setTimeout, clearTimeout } = globalThis;

type Runnable = () => Promise<void> | void;

function withDeadline(run: Runnable, milliseconds: number): Runnable {
  return async () => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.reject(new Error(`not done after ${milliseconds} ms (a test's or hook's own limit is its last argument)`));
    }, milliseconds);
    try {
      await Promise.race([run(), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  };
}

function refuseCallbackStyle(run: (...args: never[]) => unknown): void {
  if (run.length > 0) throw new Error("a test or hook takes no `done` callback here: return a promise");
}

addEventHandler((event, state) => {
  if (event.name === "add_test") {
    const test = state.currentDescribeBlock.children.at(-1);
    if (test?.type !== "test") return;
    refuseCallbackStyle(event.fn);
    if (event.mode === "todo") test.fn = () => Promise.reject(new Error("todo: write this test"));
    else if (event.failing) test.fn = () => Promise.reject(new Error("it.failing is not supported here"));
    else test.fn = withDeadline(event.fn as Runnable, PATIENCE * (event.timeout ?? DEFAULT_TIMEOUT_MILLISECONDS));
  } else if (event.name === "add_hook") {
    const hook = state.currentDescribeBlock.hooks.at(-1);
    if (hook === undefined) return;
    refuseCallbackStyle(event.fn);
    hook.fn = withDeadline(event.fn as Runnable, PATIENCE * (event.timeout ?? DEFAULT_TIMEOUT_MILLISECONDS));
  }
});
