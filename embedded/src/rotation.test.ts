import { RESUME_MS, RotationKills, type KillPoint } from './testing/rotation-kills.ts';

const RECORDS = 150;
/** Each write of the key file, and the first, some and a late write of the database. */
const POINTS: KillPoint[] = [
  { at: 'begin', moment: 'before' },
  { at: 'begin', moment: 'after' },
  { at: 'activate', moment: 'before' },
  { at: 'activate', moment: 'after' },
  { at: 1, moment: 'before' },
  { at: 40, moment: 'after' },
  { at: 'conclude', moment: 'before' },
  { at: 'conclude', moment: 'after' },
];

describe('E5: kill -9 of the service during a rotation, with reads and writes', () => {
  let kills: RotationKills;
  beforeAll(async () => {
    kills = new RotationKills(RECORDS);
    await kills.prepare();
  }, 60_000);
  afterAll(() => kills?.dispose(), 30_000);

  it('at each kind of write loses nothing: it resumes, every value opens, and the last acknowledged write is there', async () => {
    for (const point of POINTS) await kills.killAt(point);
    const { wrong, status, states } = await kills.finish();
    expect(wrong).toEqual([]);
    expect(status).toMatchObject({ isInProgress: false, failed: 0, total: RECORDS + 1, processed: RECORDS + 1 });
    expect(states).toEqual(new Set(['retired', 'active']));
    expect(kills.resumedInMs).toBeLessThan(RESUME_MS);
    // Else nothing was proved.
    expect(Math.min(kills.traffic.acknowledged, kills.traffic.reads)).toBeGreaterThan(POINTS.length);
  }, 180_000);
});
