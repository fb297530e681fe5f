import { readFileSync, readdirSync } from 'node:fs';
import process from 'node:process';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import type { Builder, BuildRequest, BuildResult, KnownLock } from '@wherry/core/ports/builder.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { TreeManifest } from '@wherry/core/trees/tree.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { createProcessBuilder, type ProcessBuilderOptions } from '../build-process/create-process-builder.ts';
import { FakePackageRegistry } from './fake-package-registry.ts';

/** By source and path. */
export type Sources = Record<string, Record<string, string | Uint8Array>>;

export interface BuildBench {
  builder: Builder & { stop(): Promise<void> };
  content: FakeContentStore;
  /** From now on blobs are not given out, until the returned function is called. */
  holdBlobs(): () => void;
  /** How many blobs were requested so far: a build that requests one has started, and its time runs. */
  requestCount(): number;
  /** Gives a request the locks that an earlier build used, as a client of the builder does. */
  withLocks(request: BuildRequest, result: BuildResult): Promise<BuildRequest>;
  request(handler: string, sources: Sources): Promise<BuildRequest>;
  build(handler: string, sources: Sources, signal?: AbortSignal): Promise<BuildResult>;
}

/** A builder with real processes over a store in memory. */
export function buildBench(options: Partial<ProcessBuilderOptions> = {}): BuildBench {
  const content = new FakeContentStore({ clock: systemClock });
  let held: Promise<void> | undefined;
  let requestCount = 0;
  const store: ContentStore = Object.assign(Object.create(content) as ContentStore, {
    async get(digest: string) {
      requestCount += 1;
      await held;
      return content.get(digest);
    },
  });
  const builder = createProcessBuilder({
    content: store,
    packages: async () => new FakePackageRegistry(),
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
    requestCount: () => requestCount,
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

/** Node's processes of the builds that run now, as children of this process. */
export const buildLeaders = (): number[] =>
  ownLeaders().filter((pid) => argumentsOf(pid).some((argument) => argument.endsWith('/esbuild/lib/main.js')));

/** Those and esbuild's, of which each build has one too. Each leads a process group. */
export const buildProcesses = (): number[] => [
  ...buildLeaders(),
  ...ownLeaders().filter((pid) => argumentsOf(pid).includes('--ping')),
];

/** Children of this process that lead a group. */
const ownLeaders = (): number[] =>
  processes().flatMap(({ pid, parent, group }) => (parent === process.pid && pid === group ? [pid] : []));

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
  } catch {
    return [];
  }
}

/** Who lives in process groups. */
export const groupMembers = (...groups: number[]): number[] =>
  processes().flatMap((one) => (groups.includes(one.group) ? [one.pid] : []));
