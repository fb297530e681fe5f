import { FakeClock } from '@wherry/core/fakes/fake-clock.ts';
import { FakeContentStore } from '@wherry/core/fakes/fake-content-store.ts';
import { channelPair } from '@wherry/core/fakes/fake-feed-channel.ts';
import { FakeLogger } from '@wherry/core/fakes/fake-logger.ts';
import type { BuildResult } from '@wherry/core/ports/builder.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { BuildChild, BuildExit } from './build-child.ts';
import { runBuild, type BuildLimits } from './run-build.ts';
import { FakePackageRoom } from './testing/fake-package-room.ts';
import { makeRequest } from './testing/build-bench.ts';

const LIMITS: BuildLimits = { timeoutMs: 60_000, packagesTimeoutMs: 180_000, memoryBytes: 1e9, outputBytes: 100, concurrency: 1 };

/** What the service makes of a process that misbehaves: it handles code of strangers. */
describe('runBuild', () => {
  let content: FakeContentStore;
  let clock: FakeClock;
  let process: FeedChannel;
  let exit: (exit: BuildExit) => void;
  let killed: boolean;

  async function begin(): Promise<{ result: Promise<BuildResult>; answers: AsyncIterator<unknown> }> {
    clock = new FakeClock();
    content = new FakeContentStore({ clock });
    const [ours, theirs] = channelPair();
    process = theirs;
    const { promise: exited, resolve } = Promise.withResolvers<BuildExit>();
    exit = resolve;
    killed = false;
    const kill = (): void => {
      killed = true;
      resolve({ code: null, signal: 'SIGKILL', stderr: '' });
    };
    // No process has this id, so that its memory is none.
    const child: BuildChild = { pid: 2 ** 30, channel: ours, exited, kill, alive: true };
    const request = await makeRequest(content, 'api/h.ts', { api: { 'h.ts': 'the handler' } });
    const options = { content, packages: async () => new FakePackageRoom(), clock, logger: new FakeLogger(), limits: LIMITS };
    const result = runBuild(child, request, new AbortController().signal, options);
    result.catch(() => undefined);
    const answers = theirs.messages()[Symbol.asyncIterator]();
    expect((await answers.next()).value).toMatchObject({ type: 'build', source: 'api', path: 'h.ts' });
    return { result, answers };
  }

  it('B1: gives out no blob that stands in none of the request\'s trees', async () => {
    const { result, answers } = await begin();
    const { digest } = await content.put(Buffer.from('of another source'));
    process.send({ type: 'blob', digest });
    expect(await result).toMatchObject({ ok: false, reason: 'BuildFailed' });
    expect(killed).toBe(true);
    process.close();
    expect((await answers.next()).done).toBe(true);
  });

  it.each([{ type: 'other' }, { type: 'blob', digest: '../keys.json' }, { type: 'built', artifact: 1, inputs: [] }, { type: 'failed', reason: 'Ready', message: '', inputs: [] }])(
    'takes no %j', async (message) => {
      const { result } = await begin();
      process.send(message);
      expect(await result).toMatchObject({ ok: false, reason: 'BuildFailed' });
      expect(killed).toBe(true);
    });

  it('B1: measures the artifact itself', async () => {
    const { result } = await begin();
    process.send({ type: 'built', artifact: 'é'.repeat(51), inputs: [] });
    expect(await result).toMatchObject({ ok: false, reason: 'BuildTooLarge' });
  });

  it.each([
    [{ code: null, signal: 'SIGABRT' as const, stderr: 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory' }, 'BuildOutOfMemory'],
    [{ code: 2, signal: null, stderr: 'fatal error: runtime: out of memory' }, 'BuildOutOfMemory'],
    [{ code: null, signal: 'SIGKILL' as const, stderr: '' }, 'BuildOutOfMemory'],
    [{ code: null, signal: 'SIGSEGV' as const, stderr: 'at /work/secret' }, 'BuildFailed'],
    [{ code: 0, signal: null, stderr: '' }, 'BuildFailed'],
  ])('B1: tells from %j how the process died', async (how, reason) => {
    const { result } = await begin();
    process.close();
    exit(how);
    const failed = await result;
    expect(failed).toMatchObject({ ok: false, reason });
    expect(JSON.stringify(failed)).not.toContain('/work');
    expect(clock.pending).toBe(0);
  });

  it('B1: ends at the time limit', async () => {
    const { result } = await begin();
    await clock.advance(LIMITS.timeoutMs);
    expect(await result).toMatchObject({ ok: false, reason: 'BuildTimeout', message: expect.stringContaining('60 s') });
    expect(killed).toBe(true);
  });
});
