import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { channelPair } from '@wherry/testing/fakes/fake-feed-channel.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import type { ProcessExit } from './exit-message.ts';
import type { Launcher, RuntimeProcess } from './runtime-process.ts';
import { createSpares } from './spares.ts';

/** Launches processes that are none, and lets a test end them. */
class FakeLauncher implements Launcher {
  readonly launched: (RuntimeProcess & { end(): void })[] = [];
  full = false;

  launch(memoryMiB: number): RuntimeProcess {
    if (this.full) throw new Error('ENOSPC: no space left on device');
    const { promise, resolve } = Promise.withResolvers<ProcessExit>();
    const end = (): void => resolve({ code: 1, signal: null, output: '' });
    const folder = { id: String(this.launched.length), path: '/i', socket: '/i/s', temporary: '/i/tmp' };
    const gone = promise.then(() => undefined);
    const process = {
      pid: undefined,
      folder,
      memoryMiB,
      channel: channelPair()[0],
      exited: promise,
      gone,
      kill: end,
      end,
    };
    this.launched.push(process);
    return process;
  }
}

describe('createSpares', () => {
  const clock = new FakeClock();
  let launcher: FakeLauncher;
  let logger: FakeLogger;
  const make = (count: number): ReturnType<typeof createSpares> =>
    createSpares({ count, memoryMiB: 128 }, { launcher, clock, logger });
  beforeEach(() => {
    launcher = new FakeLauncher();
    logger = new FakeLogger();
  });

  it('starts them at once, gives each away once, and starts others a little later', async () => {
    const spares = make(2);
    expect(launcher.launched).toHaveLength(2);
    const obtained = [spares.obtain(128), spares.obtain(128), spares.obtain(128)];
    expect(launcher.launched).toHaveLength(3);
    for (const [i, launched] of launcher.launched.entries()) expect(obtained[i]).toBe(launched);
    await clock.advance(300);
    expect(launcher.launched).toHaveLength(5);
    expect(spares.count()).toBe(2);
  });

  it('keeps them where another size is wanted', () => {
    const spares = make(1);
    expect(spares.obtain(256)).toBe(launcher.launched[1]);
    expect(spares.count()).toBe(1);
    expect(launcher.launched[1]?.memoryMiB).toBe(256);
  });

  it('replaces one that died, without haste, and never gives it away', async () => {
    const spares = make(1);
    launcher.launched[0]!.end();
    await clock.advance(4999);
    expect([spares.count(), launcher.launched.length]).toEqual([0, 1]);
    await clock.advance(1);
    expect(launcher.launched).toHaveLength(2);
    expect(spares.obtain(128)).toBe(launcher.launched[1]);
  });

  it('tries again when there is no room for one', async () => {
    launcher.full = true;
    const spares = make(1);
    expect(spares.count()).toBe(0);
    expect(logger.of('warn')).toHaveLength(1);
    launcher.full = false;
    await clock.advance(5000);
    expect(spares.count()).toBe(1);
  });

  it('ends them all when it stops, and starts no more', async () => {
    const spares = make(2);
    spares.obtain(128);
    await spares.stop();
    await clock.advance(60_000);
    expect(launcher.launched).toHaveLength(2);
  });

  it('keeps none where none are wanted', () => {
    expect([make(0).count(), launcher.launched]).toEqual([0, []]);
  });
});
