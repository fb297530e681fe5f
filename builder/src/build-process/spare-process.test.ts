import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { channelPair } from '@wherry/testing/fakes/fake-feed-channel.ts';
import type { BuildChild, BuildExit } from './build-child.ts';
import { createSpareProcess, type SpareProcess } from './spare-process.ts';

const SOON = 1000;
const MUCH_LATER = 24 * 60 * 60_000;

describe('the spare process', () => {
  let clock: FakeClock;
  let made: { child: BuildChild; killed: boolean }[];
  let spare: SpareProcess;
  let failure: Error | undefined;

  beforeEach(() => {
    clock = new FakeClock();
    made = [];
    failure = undefined;
    spare = createSpareProcess({ start, clock, logger: new FakeLogger() });
  });

  async function start(): Promise<BuildChild> {
    if (failure !== undefined) throw failure;
    const { promise, resolve } = Promise.withResolvers<BuildExit>();
    const kill = (): void => {
      one.killed = true;
      resolve({ code: null, signal: 'SIGKILL', stderr: '', esbuildStderr: '' });
    };
    const child = {
      pids: [made.length],
      channel: channelPair()[0],
      exited: promise,
      kill,
      get alive() {
        return !one.killed;
      },
    };
    const one = { child, killed: false };
    made.push(one);
    return child;
  }

  it('is ready soon after it was requested, once, and serves one build', async () => {
    expect(spare.take()).toBeUndefined();
    spare.prepare();
    spare.prepare();
    await clock.advance(SOON);
    spare.prepare();
    await clock.advance(SOON);
    expect(made).toHaveLength(1);
    expect(spare.take()).toBe(made[0]!.child);
    expect(spare.take()).toBeUndefined();
  });

  it('ends when nothing was built for long, so that its memory is free', async () => {
    spare.prepare();
    await clock.advance(MUCH_LATER);
    expect(made).toMatchObject([{ killed: true }]);
    expect(spare.take()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  it('is not given away dead, and is replaced', async () => {
    spare.prepare();
    await clock.advance(SOON);
    made[0]!.child.kill();
    expect(spare.take()).toBeUndefined();
    spare.prepare();
    await clock.advance(SOON);
    expect(spare.take()).toBe(made[1]!.child);
  });

  it('is done without where none can be started', async () => {
    failure = new Error('EAGAIN');
    spare.prepare();
    await clock.advance(SOON);
    expect(spare.take()).toBeUndefined();
    failure = undefined;
    spare.prepare();
    await clock.advance(SOON);
    expect(spare.take()).toBeDefined();
  });

  it('dies with the builder, also while it starts', async () => {
    spare.prepare();
    await clock.advance(SOON);
    await spare.stop();
    expect(made).toMatchObject([{ killed: true }]);
    expect(clock.pending).toBe(0);
  });
});
