import type { BuildInput, BuildRequest, BuildResult } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import type { BuildChild, BuildExit } from './build-child.ts';
import { groupMemory } from './process-group.ts';
import { buildReportSchema, type BlobAnswer, type BuildOrder, type BuildReport } from './protocol.ts';

/** How often the group's memory is looked at. Small builds have ended before the first look. */
const MEMORY_POLL_MS = 100;
const MIB = 1024 * 1024;

/** B1. */
export interface BuildLimits {
  timeoutMs: number;
  /** Of the whole process group. */
  memoryBytes: number;
  /** Of the artifact, its source map included, and of any one file that it is made from. */
  outputBytes: number;
  /** Builds at once; others wait, which does not count as their time. */
  concurrency: number;
}

export interface RunBuildOptions {
  content: ContentStore;
  clock: Clock;
  logger: Logger;
  limits: BuildLimits;
}

type Ending =
  | { by: 'report'; report: Exclude<BuildReport, { type: 'blob' }> }
  | { by: 'timeout' | 'memory' | 'exit' | 'nonsense' }
  | { by: 'error'; error: unknown };

/**
 * One build in one process, which is dead with all its group when this resolves.
 * @throws what the content store or the signal says: then the build was not tried.
 */
export async function runBuild(
  child: BuildChild,
  request: BuildRequest,
  signal: AbortSignal,
  options: RunBuildOptions,
): Promise<BuildResult> {
  const { promise, resolve } = Promise.withResolvers<Ending>();
  const inputs = new Map<string, BuildInput>();
  const abort = (): void => resolve({ by: 'error', error: signal.reason });
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const stopLimits = watchLimits(child, options, resolve);
  void child.exited.then(() => resolve({ by: 'exit' }));
  converse(child, request, inputs, options).then(
    // At the end of the conversation without a report, how the process exits says why.
    (ending) => ending !== undefined && resolve(ending),
    (error: unknown) => resolve({ by: 'error', error }),
  );
  const ending = await promise;
  stopLimits();
  signal.removeEventListener('abort', abort);
  child.kill();
  const exit = await child.exited;
  if (ending.by === 'error') throw ending.error;
  return resultOf(ending, exit, [...inputs.values()], options);
}

/** Answers the process's questions until its report. */
async function converse(
  child: BuildChild,
  request: BuildRequest,
  inputs: Map<string, BuildInput>,
  { content, limits }: RunBuildOptions,
): Promise<Ending | undefined> {
  // A process that was taken over asks for nothing that the request does not hold anyway.
  const allowed = filesByDigest(request);
  child.channel.send(orderOf(request, limits));
  for await (const line of child.channel.messages()) {
    const message = buildReportSchema.safeParse(line);
    if (!message.success) return { by: 'nonsense' };
    if (message.data.type !== 'blob') return { by: 'report', report: message.data };
    const { digest } = message.data;
    const files = allowed.get(digest);
    if (files === undefined) return { by: 'nonsense' };
    for (const file of files) inputs.set(`${file.source}/${file.path}`, file);
    const bytes = await content.get(digest);
    child.channel.send({ type: 'blob', digest, base64: bytes.toString('base64') } satisfies BlobAnswer);
  }
  return undefined;
}

function watchLimits(child: BuildChild, { clock, limits }: RunBuildOptions, end: (ending: Ending) => void): () => void {
  const stopTimer = clock.after(limits.timeoutMs, () => end({ by: 'timeout' }));
  let stopPoll = (): void => undefined;
  let stopped = false;
  const poll = async (): Promise<void> => {
    // Without /proc nothing is known; the heap's own limit remains.
    const bytes = await groupMemory(child.pid).catch(() => 0);
    if (stopped) return;
    if (bytes > limits.memoryBytes) end({ by: 'memory' });
    else stopPoll = clock.after(MEMORY_POLL_MS, () => void poll());
  };
  stopPoll = clock.after(MEMORY_POLL_MS, () => void poll());
  return () => {
    stopped = true;
    stopTimer();
    stopPoll();
  };
}

function resultOf(ending: Exclude<Ending, { by: 'error' }>, exit: BuildExit, inputs: BuildInput[], { limits, logger }: RunBuildOptions): BuildResult {
  if (ending.by === 'report') return reported(ending.report, limits);
  const failed = (reason: 'BuildTimeout' | 'BuildOutOfMemory' | 'BuildFailed', message: string): BuildResult => {
    logger.warn({ reason, endedBy: ending.by, ...exit }, 'a build was ended');
    return { ok: false, reason, message, inputs };
  };
  const advice = 'Import less code.';
  if (ending.by === 'timeout') return failed('BuildTimeout', `The build took longer than ${limits.timeoutMs / 1000} s. ${advice}`);
  if (ending.by === 'memory' || (ending.by === 'exit' && ranOutOfMemory(exit))) {
    return failed('BuildOutOfMemory', `The build needed more than ${Math.round(limits.memoryBytes / MIB)} MiB of memory. ${advice}`);
  }
  return failed('BuildFailed', 'The build process ended unexpectedly.');
}

function reported(report: Exclude<BuildReport, { type: 'blob' }>, limits: BuildLimits): BuildResult {
  const { inputs } = report;
  if (report.type === 'failed') {
    const { reason, message, location } = report;
    return { ok: false, reason, message, ...(location && { location }), inputs };
  }
  const artifact = Buffer.from(report.artifact);
  if (artifact.byteLength <= limits.outputBytes) return { ok: true, artifact, revision: sha256(artifact), inputs };
  return { ok: false, reason: 'BuildTooLarge', message: `The artifact is larger than ${limits.outputBytes} bytes.`, inputs };
}

/** V8 says so before it aborts, Go before it exits; the kernel kills without a word. */
const ranOutOfMemory = ({ signal, stderr }: BuildExit): boolean =>
  /heap out of memory|runtime: out of memory|cannot allocate memory/.test(stderr) || (signal === 'SIGKILL' && stderr === '');

function orderOf({ source, path, trees }: BuildRequest, limits: BuildLimits): BuildOrder {
  const files = [...trees].map(([name, tree]) => [
    name,
    Object.fromEntries(tree.files.map((file) => [file.path, [file.digest, file.size]])),
  ]);
  return { type: 'build', source, path, trees: Object.fromEntries(files) as BuildOrder['trees'], maxBytes: limits.outputBytes };
}

function filesByDigest({ trees }: BuildRequest): Map<string, BuildInput[]> {
  const found = new Map<string, BuildInput[]>();
  for (const [source, tree] of trees) {
    for (const { path, digest } of tree.files) {
      const same = found.get(digest);
      if (same === undefined) found.set(digest, [{ source, path, digest }]);
      else same.push({ source, path, digest });
    }
  }
  return found;
}
