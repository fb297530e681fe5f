import { builderContract } from '@wherry/core/contracts/builder-contract.ts';
import { eventually } from '@wherry/core/contracts/eventually.ts';
import { FakeContentStore } from '@wherry/core/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/core/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/core/fakes/fake-metrics.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { startBuildChild } from './build-child.ts';
import { makeBuildProgram } from './build-program.ts';
import { createProcessBuilder } from './create-process-builder.ts';
import { FakePackageRoom } from './testing/fake-package-room.ts';
import { buildBench, buildLeaders, groupMembers } from './testing/build-bench.ts';

describe('createProcessBuilder', () => {
  builderContract(async () => {
    const content = new FakeContentStore({ clock: systemClock });
    const builder = createProcessBuilder({ content, packages: async () => new FakePackageRoom(), clock: systemClock, logger: new FakeLogger(), metrics: new FakeMetrics() });
    return { builder, content, stop: () => builder.stop() };
  });
});

describe('building processes', () => {
  it('serve one build each; the next one stands ready, and none is left at the end', async () => {
    const metrics = new FakeMetrics();
    const bench = buildBench({ spare: true, metrics });
    const sources = { api: { 'h.ts': 'export default () => 1;' } };
    expect(await bench.build('api/h.ts', sources)).toMatchObject({ ok: true });
    let spare: number[] = [];
    await eventually(() => {
      spare = buildLeaders();
      expect(spare).toHaveLength(1);
      expect(groupMembers(spare[0]!)).toHaveLength(2);
    });
    expect(await bench.build('api/h.ts', sources)).toMatchObject({ ok: true });
    expect(groupMembers(spare[0]!)).toEqual([]);
    await bench.builder.stop();
    expect(buildLeaders()).toEqual([]);
    expect(['cold', 'spare'].map((start) => metrics.value('build_processes_total', { start }))).toEqual([1, 1]);
  });

  it('end by themselves when the service is gone', async () => {
    const child = await startBuildChild(await makeBuildProgram(), { memoryBytes: 512 * 1024 * 1024 });
    await eventually(() => expect(groupMembers(child.pid)).toHaveLength(2));
    child.channel.close();
    expect(await child.exited).toMatchObject({ code: 0, stderr: '' });
    expect(groupMembers(child.pid)).toEqual([]);
  });
});
