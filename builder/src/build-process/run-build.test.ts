import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { channelPair } from '@wherry/testing/fakes/fake-feed-channel.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import type { BuildResult } from '@wherry/core/ports/builder.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { BuildChild, BuildExit } from './build-child.ts';
import type { LayoutsAnswer } from './protocol.ts';
import { runBuild, type BuildLimits } from './run-build.ts';
import { FakePackageRegistry } from '../testing/fake-package-registry.ts';
import { makeRequest } from '../testing/build-bench.ts';

const PACKAGES = { 'node_modules/a': { 'index.js': 'module.exports = 1;' } };
const LIMITS: BuildLimits = {
  timeoutMs: 600,
  packagesTimeoutMs: 1800,
  memoryBytes: 1e9,
  outputBytes: 100,
  concurrency: 1,
};

/** What the service makes of a process that misbehaves: it runs untrusted code. */
describe('runBuild', () => {
  let content: FakeContentStore;
  let clock: FakeClock;
  let process: FeedChannel;
  let exit: (exit: BuildExit) => void;
  let killed: boolean;
  let registry: FakePackageRegistry;

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
      resolve({ code: null, signal: 'SIGKILL', stderr: '', esbuildStderr: '' });
    };
    // No process has this id, so that its memory is none.
    const child: BuildChild = { pids: [2 ** 30], channel: ours, exited, kill, alive: true };
    const request = await makeRequest(content, 'api/h.ts', { api: { 'h.ts': 'the handler' } });
    registry = new FakePackageRegistry(PACKAGES);
    const options = { content, packages: async () => registry, clock, logger: new FakeLogger(), limits: LIMITS };
    const result = runBuild(child, request, new AbortController().signal, options);
    result.catch(() => undefined);
    const answers = theirs.messages()[Symbol.asyncIterator]();
    expect((await answers.next()).value).toMatchObject({ type: 'build', source: 'api', path: 'h.ts' });
    return { result, answers };
  }

  it("B1: gives out no blob that stands in none of the request's trees", async () => {
    const { result, answers } = await begin();
    const { digest } = await content.put(Buffer.from('of another source'));
    process.send({ type: 'blob', hash: digest });
    expect(await result).toMatchObject({ ok: false, reason: 'BuildFailed' });
    expect(killed).toBe(true);
    process.close();
    expect((await answers.next()).done).toBe(true);
  });

  it.each([
    { type: 'other' },
    { type: 'blob', hash: '../keys.json' },
    { type: 'built', artifact: 1, inputs: [] },
    { type: 'failed', reason: 'Ready', message: '', inputs: [] },
  ])('takes no %j', async (message) => {
    const { result } = await begin();
    process.send(message);
    expect(await result).toMatchObject({ ok: false, reason: 'BuildFailed' });
    expect(killed).toBe(true);
  });

  const REQUIREMENTS = {
    type: 'packages',
    sources: { api: [{ specifier: 'npm:a', file: 'api/h.ts', line: 1, column: 1 }] },
  };
  const integrityOf = (answer: unknown): string =>
    (answer as LayoutsAnswer).layouts['api']?.packages['node_modules/a']?.integrity ?? '';

  it('gives out the tarballs that the layout names, and no other', async () => {
    const { result, answers } = await begin();
    process.send(REQUIREMENTS);
    const { value } = await answers.next();
    expect(value).toMatchObject({ type: 'layouts', layouts: { api: { folders: { a: 'a' } } } });
    process.send({ type: 'blob', hash: integrityOf(value) });
    expect((await answers.next()).value).toMatchObject({ type: 'blob', hash: integrityOf(value) });
    process.send({ type: 'blob', hash: 'sha512-other' });
    expect(await result).toMatchObject({
      ok: false,
      reason: 'BuildFailed',
      locks: new Map([['api', { asks: expect.any(String), lock: expect.any(String) }]]),
    });
    expect(killed).toBe(true);
  });

  it.each([
    ['before a layout is sent', [{ type: 'blob', hash: 'sha512-any' }]],
    ['for a source that is not of the request', [{ type: 'packages', sources: { other: [] } }]],
    ['of a source twice', [REQUIREMENTS, REQUIREMENTS]],
    [
      'in other words than npm:',
      [{ type: 'packages', sources: { api: [{ specifier: 'file:/etc', file: 'api/h.ts', line: 1, column: 1 }] } }],
    ],
  ])('B1: a process that requests packages %s is ended', async (_, messages) => {
    const { result } = await begin();
    for (const message of messages) process.send(message);
    expect(await result).toMatchObject({ ok: false, reason: 'BuildFailed' });
    expect(killed).toBe(true);
  });

  const DOWN = { reason: 'RegistryUnavailable', message: 'a cannot be used', retry: true } as const;

  it('a registry that does not answer is a failure of its own, to be tried again', async () => {
    const { result } = await begin();
    registry.fail({
      ...DOWN,
      message: 'api/package.json: a cannot be used',
      location: { file: 'api/package.json', line: 3, column: 5 },
    });
    process.send(REQUIREMENTS);
    expect(await result).toMatchObject({
      ok: false,
      ...DOWN,
      message: 'api/package.json:3:5: a cannot be used',
      location: { file: 'api/package.json', line: 3, column: 5 },
    });
    expect(killed).toBe(true);
  });

  it('a tarball that does not come is reported at the import of its package', async () => {
    const { result, answers } = await begin();
    process.send(REQUIREMENTS);
    const { value } = await answers.next();
    registry.fail(DOWN);
    process.send({ type: 'blob', hash: integrityOf(value) });
    expect(await result).toMatchObject({
      ok: false,
      ...DOWN,
      message: 'api/h.ts:1:1: a cannot be used',
      location: { file: 'api/h.ts', line: 1, column: 1 },
    });
  });

  it("the wait for packages does not count as the build's time, and ends too", async () => {
    const { result } = await begin();
    registry.resolve = () => new Promise(() => undefined);
    await clock.advance(LIMITS.timeoutMs - 1);
    process.send(REQUIREMENTS);
    await clock.advance(LIMITS.packagesTimeoutMs - 100);
    expect(killed).toBe(false);
    await clock.advance(100);
    expect(await result).toMatchObject({
      ok: false,
      reason: 'InstallTimeout',
      retry: true,
      message: expect.stringContaining('1.8 s'),
    });
    expect(clock.pending).toBe(0);
  });

  it('B1: after the wait the build has the time that it had left', async () => {
    const { result, answers } = await begin();
    await clock.advance(LIMITS.timeoutMs - 100);
    process.send(REQUIREMENTS);
    await answers.next();
    await clock.advance(99);
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
    [{ code: 2, signal: null, esbuildStderr: 'fatal error: runtime: out of memory' }, 'BuildOutOfMemory'],
    [{ code: null, signal: 'SIGKILL' as const }, 'BuildOutOfMemory'],
    // esbuild's process complains when Node's, which reads what it writes, is gone.
    [{ code: null, signal: 'SIGKILL' as const, esbuildStderr: 'write |1: broken pipe' }, 'BuildOutOfMemory'],
    [{ code: null, signal: 'SIGSEGV' as const, stderr: 'at /work/secret' }, 'BuildFailed'],
    [{ code: 0, signal: null }, 'BuildFailed'],
  ])('B1: finds in %j how the process died', async (how, reason) => {
    const { result } = await begin();
    process.close();
    exit({ stderr: '', esbuildStderr: '', ...how });
    const failed = await result;
    expect(failed).toMatchObject({ ok: false, reason });
    expect(JSON.stringify(failed)).not.toContain('/work');
    expect(clock.pending).toBe(0);
  });

  it('B1: ends at the time limit', async () => {
    const { result } = await begin();
    await clock.advance(LIMITS.timeoutMs);
    expect(await result).toMatchObject({
      ok: false,
      reason: 'BuildTimeout',
      message: expect.stringContaining('0.6 s'),
    });
    expect(killed).toBe(true);
  });
});
