/**
 * Stands for a builder whose program is process 1, as in a container: builds that end in every way, one after the
 * other, and after each the zombies that are there. Prints one JSON text: its process id, and of each build how it
 * ended, and the zombies.
 */
import { readFileSync, readdirSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import type { BuildResult } from '@wherry/core/ports/builder.ts';
import { buildBench, buildLeaders, type BuildBench, type Sources } from './build-bench.ts';

const HELLO: Sources = { api: { 'hello.ts': "export default (c) => c.text('hello');\n" } };
const TIMEOUT_MS = 1500;
const POLL_MS = 10;
const clock = new FakeClock();

/** A build that waits for a blob: for its end, which is then brought about. */
async function ending(bench: BuildBench, end: (leader: number, abort: AbortController) => unknown): Promise<string> {
  bench.holdBlobs();
  const abort = new AbortController();
  const result = bench.build('api/hello.ts', HELLO, abort.signal).then(reasonOf, String);
  while (bench.requestCount() < 1) await delay(POLL_MS);
  const [leader = 0] = buildLeaders();
  await end(leader, abort);
  return result;
}

const reasonOf = (result: BuildResult): string => (result.ok ? 'ok' : result.reason);
const outOfTime = (): Promise<void> => clock.advance(TIMEOUT_MS);

const ways: ((bench: BuildBench) => Promise<string>)[] = [
  async (bench) => reasonOf(await bench.build('api/hello.ts', HELLO)),
  (bench) => ending(bench, outOfTime),
  (bench) => ending(bench, (leader) => process.kill(leader, 'SIGSTOP') && outOfTime()),
  (bench) => ending(bench, (_leader, abort) => abort.abort('superseded')),
  (bench) => ending(bench, (leader) => process.kill(leader, 'SIGKILL')),
  (bench) => ending(bench, (leader) => process.kill(leader, 'SIGSEGV')),
  (bench) => ending(bench, () => bench.builder.stop()),
];

/** The names of the programs that have ended and that nobody has reaped. */
function zombies(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      const stat = readFileSync(`/proc/${id}/stat`, 'latin1');
      return /\) Z /.test(stat) ? [stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))] : [];
    });
}

const ends: [string, string[]][] = [];
for (const way of ways) {
  const bench = buildBench({ clock, limits: { timeoutMs: TIMEOUT_MS } });
  ends.push([await way(bench), zombies()]);
  await bench.builder.stop();
}
process.stdout.write(JSON.stringify({ pid: process.pid, ends }));
process.exit();
