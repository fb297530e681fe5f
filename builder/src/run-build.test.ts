import { FakeClock } from '@wherry/core/fakes/fake-clock.ts';
import { FakeContentStore } from '@wherry/core/fakes/fake-content-store.ts';
import { channelPair } from '@wherry/core/fakes/fake-feed-channel.ts';
import { FakeLogger } from '@wherry/core/fakes/fake-logger.ts';
import type { BuildResult } from '@wherry/core/ports/builder.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { BuildChild, BuildExit } from './build-child.ts';
import type { LayoutsAnswer } from './protocol.ts';
import { runBuild, type BuildLimits } from './run-build.ts';
import { FakePackageRoom } from './testing/fake-package-room.ts';
import { makeRequest } from './testing/build-bench.ts';

const PACKAGES = { 'node_modules/a': { 'index.js': 'module.exports = 1;' } };
const LIMITS: BuildLimits = {
  timeoutMs: 60_000,
  packagesTimeoutMs: 180_000,
  memoryBytes: 1e9,
  outputBytes: 100,
  concurrency: 1,
};

/** What the service makes of a process that misbehaves: it handles code of strangers. */
describe('runBuild', () => {
  let content: FakeContentStore;
  let clock: FakeClock;
  let process: FeedChannel;
  let exit: (exit: BuildExit) => void;
  let killed: boolean;
  let room: FakePackageRoom;

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
    room = new FakePackageRoom(PACKAGES);
    const options = { content, packages: async () => room, clock, logger: new FakeLogger(), limits: LIMITS };
    const result = runBuild(child, request, new AbortController().signal, options);
    result.catch(() => undefined);
    const answers = theirs.messages()[Symbol.asyncIterator]();
    expect((await answers.next()).value).toMatchObject({ type: 'build', source: 'api', path: 'h.ts' });
    return { result, answers };
  }

  it("B1: gives out no blob that stands in none of the request's trees", async () => {
    const { result, answers } = await begin();
    const { digest } = await content.put(Buffer.from('of another source'));
    process.send({ type: 'blob', digest });
    expect(await result).toMatchObject({ ok: false, reason: 'BuildFailed' });
    expect(killed).toBe(true);
    process.close();
    expect((await answers.next()).done).toBe(true);
  });

  it.each([
    { type: 'other' },
    { type: 'blob', digest: '../keys.json' },
    { type: 'built', artifact: 1, inputs: [] },
    { type: 'failed', reason: 'Ready', message: '', inputs: [] },
  ])('takes no %j', async (message) => {
    const { result } = await begin();
    process.send(message);
    expect(await result).toMatchObject({ ok: false, reason: 'BuildFailed' });
    expect(killed).toBe(true);
  });

  const ASKS = { type: 'packages', sources: { api: [{ specifier: 'npm:a', file: 'api/h.ts', line: 1, column: 1 }] } };
  const integrityOf = (answer: unknown): string =>
    (answer as LayoutsAnswer).layouts['api']?.packages['node_modules/a']?.integrity ?? '';

  it('gives out the tarballs that the layout names, and no other', async () => {
    const { result, answers } = await begin();
    process.send(ASKS);
    const { value } = await answers.next();
    expect(value).toMatchObject({ type: 'layouts', layouts: { api: { folders: { a: 'a' } } } });
    process.send({ type: 'package', integrity: integrityOf(value) });
    expect((await answers.next()).value).toMatchObject({ type: 'package', integrity: integrityOf(value) });
    process.send({ type: 'package', integrity: 'sha512-other' });
    expect(await result).toMatchObject({
      ok: false,
      reason: 'BuildFailed',
      locks: new Map([['api', { asks: expect.any(String), lock: expect.any(String) }]]),
    });
    expect(killed).toBe(true);
  });

  it.each([
    ['before a layout is told', [{ type: 'package', integrity: 'sha512-any' }]],
    ['for a source that is not of the request', [{ type: 'packages', sources: { other: [] } }]],
    ['of a source twice', [ASKS, ASKS]],
    [
      'in other words than npm:',
      [{ type: 'packages', sources: { api: [{ specifier: 'file:/etc', file: 'api/h.ts', line: 1, column: 1 }] } }],
    ],
  ])('B1: a process that asks for packages %s is ended', async (_, messages) => {
    const { result } = await begin();
    for (const message of messages) process.send(message);
    expect(await result).toMatchObject({ ok: false, reason: 'BuildFailed' });
    expect(killed).toBe(true);
  });

  const DOWN = { reason: 'RegistryUnavailable', message: 'a cannot be had', retry: true } as const;

  it('a registry that does not answer is a failure of its own, to be tried again', async () => {
    const { result } = await begin();
    room.fail({
      ...DOWN,
      message: 'api/package.json: a cannot be had',
      location: { file: 'api/package.json', line: 3, column: 5 },
    });
    process.send(ASKS);
    expect(await result).toMatchObject({
      ok: false,
      ...DOWN,
      message: 'api/package.json:3:5: a cannot be had',
      location: { file: 'api/package.json', line: 3, column: 5 },
    });
    expect(killed).toBe(true);
  });

  it('a tarball that does not come is told at the import of its package', async () => {
    const { result, answers } = await begin();
    process.send(ASKS);
    const { value } = await answers.next();
    room.fail(DOWN);
    process.send({ type: 'package', integrity: integrityOf(value) });
    expect(await result).toMatchObject({
      ok: false,
      ...DOWN,
      message: 'api/h.ts:1:1: a cannot be had',
      location: { file: 'api/h.ts', line: 1, column: 1 },
    });
  });

  it("the wait for packages does not count as the build's time, and ends too", async () => {
    const { result } = await begin();
    room.resolve = () => new Promise(() => undefined);
    await clock.advance(LIMITS.timeoutMs - 1);
    process.send(ASKS);
    await clock.advance(LIMITS.packagesTimeoutMs - 1000);
    expect(killed).toBe(false);
    await clock.advance(1000);
    expect(await result).toMatchObject({
      ok: false,
      reason: 'InstallTimeout',
      retry: true,
      message: expect.stringContaining('180 s'),
    });
    expect(clock.pending).toBe(0);
  });

  it('B1: after the wait the build has the time that it had left', async () => {
    const { result, answers } = await begin();
    await clock.advance(LIMITS.timeoutMs - 1000);
    process.send(ASKS);
    await answers.next();
    await clock.advance(999);
    expect(killed).toBe(false);
    await clock.advance(1);
    expect(await result).toMatchObject({ ok: false, reason: 'BuildTimeout' });
  });

  it('B1: measures the artifact itself', async () => {
    const { result } = await begin();
    process.send({ type: 'built', artifact: 'é'.repeat(51), inputs: [] });
    expect(await result).toMatchObject({ ok: false, reason: 'BuildTooLarge' });
  });

  it.each([
    [
      {
        code: null,
        signal: 'SIGABRT' as const,
        stderr: 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
      },
      'BuildOutOfMemory',
    ],
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
