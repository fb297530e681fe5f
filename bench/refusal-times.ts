/**
 * R7: how long a refusal takes, by what is wrong with the key: 10,000 calls, the kinds in turn. Prints each kind's
 * median and how far the medians are apart. Run: npm run bench -- refusal-times
 */
import { Harness, routerFunction, routerKey } from '@wherry/router/testing/harness.ts';
import { median, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';

const ROUNDS = 2500;
const OTHERS = 'wh_a-key-of-another-group';
const EXPIRED = 'wh_a-key-that-has-expired';
const KINDS: [string, string | undefined][] = [
  ['missing', undefined],
  ['unknown', 'wh_nobody-has-this-key'],
  ["another group's", OTHERS],
  ['expired', EXPIRED],
];

// Each call comes from an address of its own, so that none is throttled (R10).
const harness = await Harness.start({ trustedProxies: ['127.0.0.1'] });
await harness.serve(
  [routerFunction({ keyGroups: ['team'] })],
  [routerKey(OTHERS, { groupId: 'other' }), routerKey(EXPIRED, { expiresAt: 1 })],
);
const times = KINDS.map(() => [] as number[]);
for (let round = 0; round < ROUNDS; round++) {
  for (const [kind, [name, key]] of KINDS.entries()) {
    const headers = {
      'X-Forwarded-For': `10.${kind}.${round >> 8}.${round & 255}`,
      ...(key !== undefined && { 'X-API-Key': key }),
    };
    const start = performance.now();
    const { status } = await harness.call('/run/hello', { headers });
    times[kind]?.push(performance.now() - start);
    if (status !== 401) throw new Error(`a call with a key of the kind "${name}" was answered ${status}`);
  }
}
await harness.stop();

const medians = times.map(median);
console.log(table([['key', 'p50 (ms)'], ...KINDS.map(([name], kind) => [name, rounded(medians[kind] ?? NaN, 3)])]));
console.log(`apart: ${rounded(Math.max(...medians) - Math.min(...medians), 3)} ms (goal 1 ms)`);
