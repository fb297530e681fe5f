/**
 * M2: how long a sign-in with a wrong password takes, with an email that a user has and with one that nobody has, in turn.
 * Prints each median and how far they are apart. Run: npm run bench -- sign-in-times [rounds, 500 when omitted]
 */
import { loadavg } from 'node:os';
import { startService } from '@wherry/e2e/testing/embedded-service.ts';
import { median, quantile, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';

const ROUNDS = Number(process.argv[2] ?? 500);
/** The first ones compile code. */
const WARM_UP = 20;
const KNOWN = 'known@example.com';
const KINDS = [
  ['known', KNOWN],
  ['unknown', 'nobody@example.com'],
] as const;

const service = await startService({
  environment: { WHERRY_ADMIN_EMAIL: KNOWN, WHERRY_ADMIN_PASSWORD: 'the right password', TRUSTED_PROXIES: '127.0.0.1' },
});

/** @param from the caller's address: each call has one of its own, so that none is throttled. @returns milliseconds */
async function timeSignIn(email: string, from: string): Promise<number> {
  const body = JSON.stringify({ email, password: 'a wrong password' });
  const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': from };
  const start = performance.now();
  const answer = await fetch(`${service.managementUrl}/api/auth/sign-in/email`, { method: 'POST', headers, body });
  await answer.arrayBuffer();
  const took = performance.now() - start;
  if (answer.status !== 401) throw new Error(`a sign-in of ${email} was answered ${answer.status}`);
  return took;
}

const times = KINDS.map(() => [] as number[]);
try {
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    // Each kind comes first as often as the other.
    for (const kind of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const took = await timeSignIn(KINDS[kind]?.[1] ?? '', `10.${kind}.${round >> 8}.${round & 255}`);
      if (round >= WARM_UP) times[kind]?.push(took);
    }
  }
} finally {
  await service.dispose();
}

const medians = times.map(median);
const rows = KINDS.map(([name], kind) => [
  name,
  ...[0.1, 0.5, 0.9].map((share) => rounded(quantile(times[kind] ?? [], share), 2)),
]);
console.log(table([['email', 'p10 (ms)', 'p50 (ms)', 'p90 (ms)'], ...rows]));
const apart = Math.max(...medians) / Math.min(...medians) - 1;
console.log(
  `apart: ${rounded(apart * 100, 2)} % (goal 5 %); load ${rounded(loadavg()[0] ?? NaN, 1)}, ${ROUNDS} rounds`,
);
