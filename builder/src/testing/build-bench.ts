import { readFileSync, readdirSync } from 'node:fs';
import process from 'node:process';
import { FakeContentStore } from '@wherry/core/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/core/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/core/fakes/fake-metrics.ts';
import type { Builder, BuildRequest, BuildResult, KnownLock } from '@wherry/core/ports/builder.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { TreeManifest } from '@wherry/core/trees/tree.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { createProcessBuilder, type ProcessBuilderOptions } from '../create-process-builder.ts';
import { FakePackageRoom } from './fake-package-room.ts';

/** By source and path. */
export type Sources = Record<string, Record<string, string | Uint8Array>>;

export interface BuildBench {
  builder: Builder & { stop(): Promise<void> };
  content: FakeContentStore;
  /** From now on blobs are not given out, until the returned function is called. */
  holdBlobs(): () => void;
  /** How many blobs were asked for so far: one that asks has started, and its time runs. */
  asked(): number;
  /** Gives a request the locks that an earlier build used, as whoever asks for builds does. */
  withLocks(request: BuildRequest, result: BuildResult): Promise<BuildRequest>;
  request(handler: string, sources: Sources): Promise<BuildRequest>;
  build(handler: string, sources: Sources, signal?: AbortSignal): Promise<BuildResult>;
}

/** A builder with real processes over a store in memory. */
export function buildBench(options: Partial<ProcessBuilderOptions> = {}): BuildBench {
  const content = new FakeContentStore({ clock: systemClock });
  let held: Promise<void> | undefined;
  let asked = 0;
  const store: ContentStore = Object.assign(Object.create(content) as ContentStore, {
    async get(digest: string) {
      asked += 1;
      await held;
      return content.get(digest);
    },
  });
  const builder = createProcessBuilder({
    content: store,
    packages: async () => new FakePackageRoom(),
    clock: systemClock,
    logger: new FakeLogger(),
    metrics: new FakeMetrics(),
    spare: false,
    ...options,
  });
  return {
    builder,
    content,
    holdBlobs() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    asked: () => asked,
    async withLocks(request, result) {
      const locks = new Map<string, KnownLock[]>();
      for (const [source, { asks, lock }] of result.locks ?? []) {
        const { digest } = await content.put(Buffer.from(lock));
        locks.set(source, [{ asks, lock: digest }, ...(request.locks?.get(source) ?? [])]);
      }
      return { ...request, locks };
    },
    request: (handler, sources) => makeRequest(content, handler, sources),
    async build(handler, sources, signal = new AbortController().signal) {
      return builder.build(await makeRequest(content, handler, sources), signal);
    },
  };
}

export async function makeRequest(content: ContentStore, handler: string, sources: Sources): Promise<BuildRequest> {
  const trees = new Map<string, TreeManifest>();
  for (const [source, files] of Object.entries(sources)) {
    const entries = Object.entries(files).map(async ([path, data]) => ({
      path,
      ...(await content.put(Buffer.from(data))),
      mtime: 0,
    }));
    trees.set(source, { files: await Promise.all(entries) });
  }
  const slash = handler.indexOf('/');
  return { source: handler.slice(0, slash), path: handler.slice(slash + 1), trees };
}

interface ProcessInfo {
  pid: number;
  parent: number;
  group: number;
}

function processes(): ProcessInfo[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
        const [state, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        return state === 'Z' ? [] : [{ pid: Number(name), parent: Number(parent), group: Number(group) }];
      } catch {
        return [];
      }
    });
}

/** Leaders of the building processes that run now, as children of this process; others that lead a group are none. */
export const buildLeaders = (): number[] =>
  processes().flatMap(({ pid, parent, group }) =>
    parent === process.pid && pid === group && builds(pid) ? [pid] : [],
  );

function builds(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').includes('--allow-child-process');
  } catch {
    return false;
  }
}

/** Who lives in a process group. */
export const groupMembers = (group: number): number[] =>
  processes().flatMap((one) => (one.group === group ? [one.pid] : []));
