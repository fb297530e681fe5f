import { builderContract } from '@wherry/testing/contracts/builder-contract.ts';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { startBuildChild } from './build-child.ts';
import { makeBuildProgram } from './build-program.ts';
import { createProcessBuilder } from './create-process-builder.ts';
import { FakePackageRegistry } from '../testing/fake-package-registry.ts';
import type { WarmUp } from './protocol.ts';
import { runBuild, type BuildLimits } from './run-build.ts';
import {
  buildBench,
  buildLeaders,
  buildProcesses,
  groupMembers,
  makeRequest,
  type Sources,
} from '../testing/build-bench.ts';

const LIMITS: BuildLimits = {
  timeoutMs: 60_000,
  packagesTimeoutMs: 60_000,
  memoryBytes: 512 * 1024 * 1024,
  outputBytes: 1_000_000,
  concurrency: 1,
};

describe('createProcessBuilder', () => {
  builderContract(async () => {
    const content = new FakeContentStore({ clock: systemClock });
    const builder = createProcessBuilder({
      content,
      packages: async () => new FakePackageRegistry(),
      clock: systemClock,
      logger: new FakeLogger(),
      metrics: new FakeMetrics(),
    });
    return { builder, content, stop: () => builder.stop() };
  });
});

describe('build processes', () => {
  it('serve one build each; the next one stands ready, and none is left at the end', async () => {
    const metrics = new FakeMetrics();
    const bench = buildBench({ spare: true, metrics });
    const sources = { api: { 'h.ts': 'export default () => 1;' } };
    expect(await bench.build('api/h.ts', sources)).toMatchObject({ ok: true });
    let spare: number[] = [];
    await eventually(() => {
      spare = buildProcesses();
      expect(spare).toHaveLength(2);
    });
    expect(await bench.build('api/h.ts', sources)).toMatchObject({ ok: true });
    expect(groupMembers(...spare)).toEqual([]);
    await bench.builder.stop();
    expect(buildProcesses()).toEqual([]);
    expect(['cold', 'spare'].map((start) => metrics.value('build_processes_total', { start }))).toEqual([1, 1]);
  });

  it('stand ready with the packages of the last build, and make the same artifact of them as one that does not', async () => {
    const tree = {
      'node_modules/one': { 'index.js': "exports.one = require('two');" },
      'node_modules/two': { 'index.js': 'module.exports = 2;', 'deep.js': 'module.exports = 3;' },
    };
    const edited = (n: number, more = ''): Sources => ({
      api: {
        'package.json': '{"dependencies":{"one":"1"}}',
        'h.ts': `import { one } from 'one';${more} export default () => one + ${n};`,
      },
    });
    const plain = buildBench({ packages: async () => plainRegistry });
    const plainRegistry = new FakePackageRegistry(tree);
    const registry = new FakePackageRegistry(tree);
    const bench = buildBench({ spare: true, packages: async () => registry });
    try {
      expect(await bench.build('api/h.ts', edited(1))).toMatchObject({ ok: true });
      // Both tarballs again, for the process that stands ready.
      await eventually(() => expect(registry.given).toHaveLength(4));
      await eventually(() => expect(buildLeaders()).toHaveLength(1));
      const warm = await bench.build('api/h.ts', edited(2));
      expect(warm).toMatchObject({ ok: true });
      expect(warm).toEqual(await plain.build('api/h.ts', edited(2)));
      // A file that was not read before, in a process that stood ready.
      await eventually(() => expect(buildLeaders()).toHaveLength(1));
      const more = edited(3, " import deep from 'npm:two/deep.js'; console.log(deep);");
      expect(await bench.build('api/h.ts', more)).toEqual(await plain.build('api/h.ts', more));
    } finally {
      await bench.builder.stop();
      await plain.builder.stop();
    }
  });

  it('that still make packages ready when an order comes make no request for them', async () => {
    const registry = new FakePackageRegistry({
      'node_modules/one': { 'index.js': "require('two');" },
      'node_modules/two': {},
    });
    const specifiers = [{ specifier: 'npm:one', file: 'before/h.ts', line: 1, column: 1 }];
    const before = await registry.resolve({ source: 'before', specifiers });
    if (!before.ok) throw new Error(before.message);
    const layout = registry.layout(before.lock);
    const { integrity } = layout.packages['node_modules/one']!;
    const tarballs = { [integrity]: (await registry.tarball(integrity)).toString('base64') };
    const child = await startBuildChild(await makeBuildProgram(), { memoryBytes: LIMITS.memoryBytes });
    const content = new FakeContentStore({ clock: systemClock });
    const request = await makeRequest(content, 'api/h.ts', {
      api: { 'h.ts': "import a from 'npm:a'; export default () => a;" },
    });
    const other = new FakePackageRegistry({ 'node_modules/a': { 'index.js': 'module.exports = 1;' } });
    child.channel.send({
      type: 'warm',
      packages: { layouts: { before: layout }, tarballs, maxBytes: LIMITS.outputBytes },
    } satisfies WarmUp);
    const context = {
      content,
      packages: async () => other,
      clock: systemClock,
      logger: new FakeLogger(),
      limits: LIMITS,
    };
    expect(await runBuild(child, request, new AbortController().signal, context)).toMatchObject({ ok: true });
  });

  it('leave nothing behind when esbuild cannot be started, and say so', async () => {
    const program = { ...(await makeBuildProgram()), esbuildBinary: '/nowhere/esbuild' };
    await expect(startBuildChild(program, { memoryBytes: LIMITS.memoryBytes })).rejects.toThrow(
      'spawn /nowhere/esbuild ENOENT',
    );
    expect(buildProcesses()).toEqual([]);
  });

  it('end by themselves when the service is gone', async () => {
    const child = await startBuildChild(await makeBuildProgram(), { memoryBytes: 512 * 1024 * 1024 });
    expect(groupMembers(...child.pids)).toHaveLength(2);
    child.channel.close();
    expect(await child.exited).toMatchObject({ code: 0, stderr: '' });
    expect(groupMembers(...child.pids)).toEqual([]);
  });
});
