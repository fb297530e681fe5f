import { readFile } from 'node:fs/promises';
import { FakeClock } from './fake-clock.ts';

describe('FakeClock', () => {
  it('stands still until it is advanced', async () => {
    const clock = new FakeClock(1000);
    expect([clock.now(), clock.monotonic()]).toEqual([1000, 0]);
    await clock.advance(250);
    expect([clock.now(), clock.monotonic()]).toEqual([1250, 250]);
    clock.jump(-1000);
    expect([clock.now(), clock.monotonic()]).toEqual([250, 250]);
  });

  it('runs timers in the order in which they are due, each at its own time', async () => {
    const clock = new FakeClock(0);
    const seen: string[] = [];
    const note = (what: string) => () => void seen.push(`${what} at ${clock.now()}`);
    clock.after(20, note('b'));
    clock.after(10, note('a'));
    clock.after(20, note('c'));
    clock.after(31, note('late'));
    clock.after(15, note('never'))();
    await clock.advance(30);
    expect(seen).toEqual(['a at 10', 'b at 20', 'c at 20']);
    expect(clock.pending).toBe(1);
  });

  it('runs timers that promises and timers start on the way', async () => {
    const clock = new FakeClock(0);
    const seen: number[] = [];
    const loop = async (): Promise<void> => {
      for (;;) {
        await clock.sleep(10);
        seen.push(clock.now());
      }
    };
    void loop();
    await clock.advance(35);
    expect(seen).toEqual([10, 20, 30]);
  });

  it("lets a sleeper go with the signal's reason, and forgets its timer", async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    const sleep = clock.sleep(10, abort.signal);
    abort.abort(new Error('enough'));
    await expect(sleep).rejects.toThrow('enough');
    await expect(clock.sleep(10, abort.signal)).rejects.toThrow('enough');
    expect(clock.pending).toBe(0);
  });

  it('waits for files that are being read, however many turns that takes', async () => {
    const clock = new FakeClock();
    let read = 0;
    clock.after(10, () => void readAll());
    async function readAll(): Promise<void> {
      for (; read < 50; read += 1) await readFile(import.meta.filename);
    }
    await clock.advance(10);
    expect(read).toBe(50);
  });
});
