import type { BuildFailureReason, BuildRequest, BuildResult } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import type { BuildChild, BuildExit } from './build-child.ts';
import { BuildSession, type BuildSessionEnd, type FinalReport } from './build-session.ts';
import type { PackageFailure, PackageRegistry } from '../packages/package-registry.ts';
import { groupMemory } from './process-group.ts';
import type { UsedPackages } from './packages-of-last-build.ts';
import { createTimeBudgets, type TimeBudgets } from './time-budgets.ts';

/** How often the memory of its processes is checked. Small builds have ended before the first check. */
const MEMORY_POLL_MS = 100;
const MIB = 1024 * 1024;

/** B1. */
export interface BuildLimits {
  timeoutMs: number;
  /** The time in which packages must arrive; it does not count as the build's time. */
  packagesTimeoutMs: number;
  /** Of all its processes. */
  memoryBytes: number;
  /** Of the artifact, its source map included, and of any one file that it is made from. */
  outputBytes: number;
  /** Builds at once; others wait, which does not count as their time. */
  concurrency: number;
}

interface RunBuildOptions {
  content: ContentStore;
  packages: () => Promise<PackageRegistry>;
  clock: Clock;
  logger: Logger;
  limits: BuildLimits;
  /** Called with the packages of a successful build. */
  onPackages?: (used: UsedPackages) => void;
}

type Ending =
  | NonNullable<BuildSessionEnd>
  | { by: 'timeout' | 'packagesTimeout' | 'memory' | 'exit' }
  | { by: 'error'; error: unknown };

/**
 * One build in one process, which is dead with all that it started when this resolves.
 * @throws the error of the content store or the signal: then the build did not run.
 */
export async function runBuild(
  child: BuildChild,
  request: BuildRequest,
  signal: AbortSignal,
  options: RunBuildOptions,
): Promise<BuildResult> {
  const { promise, resolve } = Promise.withResolvers<Ending>();
  const ended = new AbortController();
  const abort = (): void => resolve({ by: 'error', error: signal.reason });
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const limits = watchLimits(child, options, resolve);
  void child.exited.then(() => resolve({ by: 'exit' }));
  const context = { ...options, waitForPackages: () => limits.wait(), signal: AbortSignal.any([signal, ended.signal]) };
  const session = new BuildSession(child, request, context);
  session.run(options.limits.outputBytes).then(
    (ending) => ending !== undefined && resolve(ending),
    (error: unknown) => resolve({ by: 'error', error }),
  );
  const ending = await promise;
  limits.stop();
  ended.abort(new Error('the build has ended'));
  signal.removeEventListener('abort', abort);
  child.kill();
  const exit = await child.exited;
  if (ending.by === 'error') throw ending.error;
  const result = resultOf(ending, exit, session, options);
  if (result.ok && session.packages !== undefined) options.onPackages?.(session.packages);
  return result;
}

function watchLimits(
  child: BuildChild,
  { clock, limits }: RunBuildOptions,
  end: (ending: Ending) => void,
): TimeBudgets {
  const times = createTimeBudgets(clock, { buildMs: limits.timeoutMs, packagesMs: limits.packagesTimeoutMs }, (spent) =>
    end({ by: spent === 'build' ? 'timeout' : 'packagesTimeout' }),
  );
  let stopPoll: () => void;
  const poll = (): void => {
    // Without /proc the memory is unknown; the limit of the heap remains.
    if (groupMemory(child.pids) > limits.memoryBytes) end({ by: 'memory' });
    else stopPoll = clock.after(MEMORY_POLL_MS, poll);
  };
  stopPoll = clock.after(MEMORY_POLL_MS, poll);
  return {
    wait: () => times.wait(),
    stop() {
      times.stop();
      stopPoll();
    },
  };
}

function resultOf(
  ending: Exclude<Ending, { by: 'error' }>,
  exit: BuildExit,
  session: BuildSession,
  { limits, logger }: RunBuildOptions,
): BuildResult {
  const inputs = [...session.inputs.values()];
  const locks = session.locks.size > 0 && { locks: session.locks };
  if (ending.by === 'report') return { ...reported(ending.report, limits), ...locks };
  if (ending.by === 'packages') {
    const { reason, location, retry } = ending.failure;
    return {
      ok: false,
      reason,
      message: placed(ending.failure),
      ...(location && { location }),
      retry,
      inputs,
      ...locks,
    };
  }
  const failed = (reason: BuildFailureReason, message: string, retry = false): BuildResult => {
    logger.warn({ reason, endedBy: ending.by, ...exit }, 'a build was stopped');
    return { ok: false, reason, message, ...(retry && { retry }), inputs, ...locks };
  };
  const seconds = (ms: number): string => `${ms / 1000} s`;
  const advice = 'Import less code.';
  if (ending.by === 'timeout')
    return failed('BuildTimeout', `The build took longer than ${seconds(limits.timeoutMs)}. ${advice}`);
  if (ending.by === 'packagesTimeout')
    return failed(
      'InstallTimeout',
      `The packages took longer than ${seconds(limits.packagesTimeoutMs)} to arrive.`,
      true,
    );
  if (ending.by === 'memory' || (ending.by === 'exit' && ranOutOfMemory(exit))) {
    return failed(
      'BuildOutOfMemory',
      `The build needed more than ${Math.round(limits.memoryBytes / MIB)} MiB of memory. ${advice}`,
    );
  }
  return failed('BuildFailed', 'The build process ended unexpectedly.');
}

/** As errors of the code begin: with file, line and column. */
function placed({ message, location }: PackageFailure): string {
  if (location === undefined) return message;
  const { file, line, column } = location;
  return `${file}:${line}:${column}: ${message.startsWith(`${file}: `) ? message.slice(file.length + 2) : message}`;
}

function reported(report: FinalReport, limits: BuildLimits): BuildResult {
  const { inputs } = report;
  if (report.type === 'failed') {
    const { reason, message, location } = report;
    return { ok: false, reason, message, ...(location && { location }), inputs };
  }
  const artifact = Buffer.from(report.artifact);
  if (artifact.byteLength <= limits.outputBytes) return { ok: true, artifact, revision: sha256(artifact), inputs };
  return {
    ok: false,
    reason: 'BuildTooLarge',
    message: `The artifact is larger than ${limits.outputBytes} bytes.`,
    inputs,
  };
}

/** V8 prints it before it aborts, Go before it exits; the kernel kills without any output. */
const ranOutOfMemory = ({ signal, stderr, esbuildStderr }: BuildExit): boolean =>
  /heap out of memory|runtime: out of memory|cannot allocate memory/.test(stderr + esbuildStderr) ||
  (signal === 'SIGKILL' && stderr === '');
