/**
 * One change of a router's state, with few functions and keys and with 10,000 and 100,000, in turn. Prints how long it
 * takes in both and their ratio. Run: npm run bench -- router-changes
 */
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { RouterState } from '@wherry/router/state/router-state.ts';
import { GOOD_KEY, routerFunction, routerKey, snapshot } from '@wherry/router/testing/harness.ts';
import { quantile, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';

const ROUNDS = 100;
const GOAL_MS = 50;

/** @returns applies the change of a round: another route for one function, one key less. */
function stateOf(functions: number, keys: number): (round: number) => void {
  const state = new RouterState(
    () => {
      throw new Error('no function has an instance');
    },
    new FakeLogger(),
    new FakeMetrics(),
  );
  const first = Array.from({ length: functions }, (_, n) => routerFunction({ id: `f${n}`, route: `/f${n}/:id` }));
  const held = Array.from({ length: keys }, (_, n) => ({ ...routerKey(GOOD_KEY), digest: `digest-${n}` }));
  state.apply(snapshot(1, first, held));
  return (round) => {
    const version = round + 2;
    state.apply({
      type: 'change',
      version,
      resourceVersion: String(version),
      functions: [routerFunction({ id: `f${round % functions}`, route: `/new${round}` })],
      removedKeys: [`digest-${round % keys}`],
    });
  };
}

const sizes = [
  { functions: 10, keys: 100 },
  { functions: 10_000, keys: 100_000 },
];
const changes = sizes.map(({ functions, keys }) => stateOf(functions, keys));
const times = sizes.map(() => [] as number[]);
for (let round = 0; round < ROUNDS; round++) {
  for (const [index, change] of changes.entries()) {
    const start = performance.now();
    change(round);
    times[index]?.push(performance.now() - start);
  }
}
const [few, many] = times.map((samples) => quantile(samples, 0.99));
console.log(
  table([
    ['functions', 'keys', 'p50 (ms)', 'p99 (ms)'],
    ...sizes.map(({ functions, keys }, index) => [
      String(functions),
      String(keys),
      rounded(quantile(times[index] ?? [], 0.5), 3),
      rounded(quantile(times[index] ?? [], 0.99), 3),
    ]),
  ]),
);
console.log(
  `p99: ${rounded((many ?? NaN) / (few ?? NaN), 1)} times that of the small state (goal: ${GOAL_MS} ms at most)`,
);
