import type { BuildRequest, BuildResult } from '@wherry/core/ports/builder.ts';
import { builderContract } from '../contracts/builder-contract.ts';
import { FakeBuilder } from './fake-builder.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeContentStore } from './fake-content-store.ts';

const file = { path: 'hello.ts', digest: 'a'.repeat(64), size: 1, mtime: 0 };
const request: BuildRequest = { source: 'api', path: 'hello.ts', trees: new Map([['api', { files: [file] }]]) };
const never = new AbortController().signal;

describe('FakeBuilder', () => {
  builderContract(async () => {
    const content = new FakeContentStore({ clock: new FakeClock() });
    return { builder: new FakeBuilder({ content }), content, stop: async () => undefined };
  });

  it('builds without a content store, and records its requests', async () => {
    const builder = new FakeBuilder();
    expect(await builder.build(request, never)).toMatchObject({ ok: true, inputs: [{ path: 'hello.ts' }] });
    expect(builder.requests).toEqual([request]);
  });

  it('ends as the test says', async () => {
    const builder = new FakeBuilder();
    const failure: BuildResult = { ok: false, reason: 'BuildTimeout', message: 'too slow', inputs: [] };
    builder.answer('api/hello.ts', failure);
    expect(await builder.build(request, never)).toBe(failure);
    builder.answer('api/hello.ts', new Error('no worker'));
    await expect(builder.build(request, never)).rejects.toThrow('no worker');
    builder.answer('api/hello.ts', undefined);
    expect(await builder.build(request, never)).toMatchObject({ ok: true });
  });

  it('hangs until it is released or no longer wanted', async () => {
    const builder = new FakeBuilder();
    builder.hang();
    const abort = new AbortController();
    const [given, unwanted] = [builder.build(request, never), builder.build(request, abort.signal)];
    abort.abort(new Error('not wanted'));
    await expect(unwanted).rejects.toThrow('not wanted');
    builder.release();
    expect(await given).toMatchObject({ ok: true });
  });
});
