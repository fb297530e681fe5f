/**
 * What a scrape of a router costs its calls: 1,000 functions with two methods and three codes each, and V8's memory as
 * the router has it. Goals: below 4 MiB, and the event loop delayed by less than 20 ms. Run: npm run bench -- router-scrape
 */
import { spawnSync } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { createMetrics } from '@wherry/service/metrics.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { NODE_FLAGS } from '@wherry/router/program/node-flags.ts';
import { RouterState } from '@wherry/router/state/router-state.ts';
import { routerFunction, snapshot } from '@wherry/router/testing/harness.ts';
import { quantile, rounded } from './lib/statistics.ts';

const FUNCTIONS = 1000;
const ROUNDS = 20;

function calledFunctions(): { state: RouterState; registry: ReturnType<typeof createMetrics>['registry'] } {
  const { metrics, registry } = createMetrics();
  const open = (): never => {
    throw new Error('there is no instance');
  };
  const state = new RouterState(open, new FakeLogger(), metrics);
  const functions = Array.from({ length: FUNCTIONS }, (_, n) => {
    const id = `a-function-with-a-longer-name-${n}`;
    return routerFunction({ id, namespace: 'wherry-functions', route: `/${id}/:id`, revision: 'f'.repeat(64) });
  });
  state.apply(snapshot(1, functions));
  for (const { series } of state.functions)
    for (const method of ['GET', 'POST']) for (const status of [200, 401, 500]) series.counted(method, status, 0.1);
  return { state, registry };
}

async function measure(): Promise<void> {
  const { state, registry } = calledFunctions();
  // Compiled code, as in a router that has run for a while.
  for (let round = 0; round < 3; round += 1) await registry.metrics();
  const pauses: number[] = [];
  const observer = new PerformanceObserver((list) => pauses.push(...list.getEntries().map(({ duration }) => duration)));
  observer.observe({ entryTypes: ['gc'] });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const began = performance.now();
  let bytes = 0;
  for (let round = 0; round < ROUNDS; round += 1) bytes = Buffer.byteLength(await registry.metrics());
  const ms = (performance.now() - began) / ROUNDS;
  delay.disable();
  // The observer has the last pauses a turn later.
  await setImmediate();
  observer.disconnect();
  await state.close();

  const inMs = (nanoseconds: number): string => `${rounded(nanoseconds / 1e6, 1)} ms`;
  const collected = pauses.reduce((sum, pause) => sum + pause, 0) / ROUNDS;
  console.log(`${availableParallelism()} cores, load ${rounded(loadavg()[0] ?? 0, 1)}, ${ROUNDS} scrapes
${FUNCTIONS} functions: ${rounded(bytes / 1024 / 1024, 2)} MiB, ${rounded(ms)} ms a scrape
event loop delay: p50 ${inMs(delay.percentile(50))}, p99 ${inMs(delay.percentile(99))}, max ${inMs(delay.max)}
of it garbage collection: ${rounded(collected, 1)} ms a scrape; pauses p50 ${rounded(quantile(pauses, 0.5), 1)} ms, p99 ${rounded(quantile(pauses, 0.99), 1)} ms, max ${rounded(Math.max(0, ...pauses), 1)} ms`);
}

if (NODE_FLAGS.every((flag) => process.execArgv.includes(flag))) await measure();
else {
  const again = [...NODE_FLAGS, path.join(import.meta.dirname, 'run.ts'), 'router-scrape'];
  process.exitCode = spawnSync(process.execPath, again, { stdio: 'inherit' }).status ?? 1;
}
