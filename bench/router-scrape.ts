import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createMetrics } from '@wherry/service/metrics.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { RouterState } from '@wherry/router/state/router-state.ts';
import { routerFunction, snapshot } from '@wherry/router/testing/harness.ts';

/*
 * What a scrape of a router costs its calls: 1,000 functions with two methods and three codes each.
 * Goals: below 4 MiB, and the event loop delayed by less than 20 ms.
 */
const FUNCTIONS = 1000;
const ROUNDS = 20;

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

// Compiled code, as in a router that has run for a while.
for (let round = 0; round < 3; round += 1) await registry.metrics();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const began = performance.now();
let bytes = 0;
for (let round = 0; round < ROUNDS; round += 1) bytes = Buffer.byteLength(await registry.metrics());
const ms = (performance.now() - began) / ROUNDS;
delay.disable();
console.log(`${FUNCTIONS} functions: ${(bytes / 1024 / 1024).toFixed(2)} MiB, ${ms.toFixed(0)} ms a scrape`);
console.log(
  `event loop delay: p50 ${(delay.percentile(50) / 1e6).toFixed(1)} ms, p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms, max ${(delay.max / 1e6).toFixed(1)} ms`,
);
await state.close();
