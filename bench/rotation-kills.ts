/**
 * FT1: the service on one machine is killed with SIGKILL at 50 writes of rotations over 5,000 records, with reads and
 * writes going on. Prints what was killed where, and what is wrong afterwards: nothing must be.
 * Run: npm run bench -- rotation-kills [kills] [records]
 */
import { RotationKills, type KillPoint } from '@wherry/embedded/testing/rotation-kills.ts';
import { rounded } from './lib/statistics.ts';

const [KILLS = 50, RECORDS = 5000] = process.argv.slice(2).map(Number);
const STEPS: KillPoint['at'][] = ['begin', 'activate', 'conclude'];

/** Both sides of each step of the key file first and last; between them, writes of the database, each another one. */
function pointOf(kill: number): KillPoint {
  const moment = kill % 2 === 0 ? 'before' : 'after';
  if (kill < 4) return { at: STEPS[Math.floor(kill / 2)] ?? 1, moment };
  if (kill >= KILLS - 2) return { at: 'conclude', moment };
  return { at: 1 + ((kill * 37) % 150), moment };
}

const kills = new RotationKills(RECORDS);
const began = performance.now();
try {
  await kills.prepare();
  console.log(`${RECORDS} records, prepared in ${rounded((performance.now() - began) / 1000, 1)} s`);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const point = pointOf(kill);
    await kills.killAt(point);
    const step = typeof point.at === 'number' ? `write ${point.at} of the database` : `${point.at} of the ring`;
    console.log(`kill ${kill + 1} of ${KILLS}: ${point.moment} ${step}`);
  }
  const { wrong, status, states } = await kills.finish();
  console.log(
    `${kills.traffic.acknowledged} writes acknowledged and ${kills.traffic.reads} reads right between the kills`,
  );
  console.log(`the rotation resumed and ended ${rounded(kills.resumedInMs / 1000, 1)} s after the start (goal 30 s)`);
  console.log(JSON.stringify(status), `keys: ${[...states].join(', ')}`);
  console.log(`values that are lost or do not open: ${wrong.length} (goal 0)`, ...wrong.slice(0, 10));
  console.log(`in all ${rounded((performance.now() - began) / 1000, 0)} s`);
  if (wrong.length > 0 || status.failed !== 0) process.exitCode = 1;
} finally {
  await kills.dispose();
}
