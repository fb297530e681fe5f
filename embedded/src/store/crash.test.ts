import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { take } from '@wherry/testing/contracts/resource-store-samples.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import { build } from 'esbuild';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { openDataDirectory } from '../data-directory/open-data-directory.ts';
import { playStep, stateOf } from './testing/crash-history.ts';
import { openSqliteStore } from './open-sqlite-store.ts';

const ROUNDS = 100;
/** Lanes with a data directory of their own, so that the kills of one meet the disk's work of the other. */
const LANES = 2;

let folder: string;
let writer: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'wherry-crash-'));
  writer = path.join(folder, 'writer.mjs');
  // One bundle starts three times as fast as the sources.
  await build({
    entryPoints: [path.join(import.meta.dirname, 'testing', 'crash-writer.ts')],
    outfile: writer,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Lets the writer go on from a step and kills it at its `lines`th line; the last step that it acknowledged. */
async function writeAndKill(data: string, from: number, lines: number): Promise<number> {
  const child = spawn(process.execPath, [writer, data, String(from)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  let acknowledged = from - 1;
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    seen += 1;
    if (seen === lines) child.kill('SIGKILL');
    if (line !== 'starting') acknowledged = Number(line);
  }
  expect(await exit).toEqual([null, 'SIGKILL']);
  return acknowledged;
}

/** Opens what the killed writer left; the step at which the store stands. */
async function inspect(data: string, acknowledged: number, model: FakeResourceStore): Promise<number> {
  const directory = await openDataDirectory({ path: data, logger: new FakeLogger() });
  const store = await openSqliteStore({
    file: directory.paths.database,
    namespace: 'wherry',
    clock: Date,
    history: 50,
  });
  const { resourceVersion } = await store.list('KeyGroup');
  // Each step is one write, and an empty store is at 1.
  const step = Number(resourceVersion) - 1;
  expect([acknowledged, acknowledged + 1]).toContain(step);
  while (Number((await model.list('KeyGroup')).resourceVersion) <= step) {
    await playStep(model, Number((await model.list('KeyGroup')).resourceVersion));
  }
  expect(await stateOf(store)).toEqual(await stateOf(model));
  const count = Math.min(step, 50);
  const options = { resourceVersion: String(step + 1 - count), count };
  const changesOf = async (from: FakeResourceStore | typeof store) =>
    (await take(from, 'KeyGroup', options)).map(({ type, object }) => [
      type,
      object.metadata.resourceVersion,
      object.spec,
      object.status,
    ]);
  expect(await changesOf(store)).toEqual(await changesOf(model));
  await store.close();
  directory.release();
  return step;
}

/** All rounds on one data directory; how many steps were written. */
async function lane(index: number): Promise<number> {
  const data = path.join(folder, `data-${index}`);
  const model = new FakeResourceStore();
  let step = 0;
  for (let round = 0; round < ROUNDS / LANES; round += 1) {
    const lines = Math.random() < 0.2 ? 1 : 2 + Math.floor(Math.random() * 120);
    const acknowledged = await writeAndKill(data, step + 1, lines);
    step = await inspect(data, acknowledged, model);
  }
  return step;
}

describe('kill -9 of the service during writes', () => {
  it(`opens every time of ${ROUNDS}, holds the last acknowledged write, and nothing by halves`, async () => {
    const lanes = await Promise.all(Array.from({ length: LANES }, (_, index) => lane(index)));
    // That many were written at all: else nothing was proved.
    for (const steps of lanes) expect(steps).toBeGreaterThan((ROUNDS / LANES) * 10);
  }, 180_000);
});
