import type { WorkloadFailure } from '@wherry/core/ports/workloads.ts';
import { containerOf, isLeaving, type ContainerStatus, type Pod, type Terminated } from './pod.ts';

/** This many ends are a crash loop. */
const CRASH_LOOP = 3;
/** A container that ran for this long before it ended was not part of a crash loop. */
const STABLE_MS = 30_000;
const LINES = 12;
/** Control characters must not reach a person's terminal. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** Why no instance of a workload becomes ready, from the statuses of its pods; undefined if nothing is wrong yet. */
export function failureOf(pods: readonly Pod[]): WorkloadFailure | undefined {
  const statuses = pods.flatMap((pod) => (isLeaving(pod) ? [] : (containerOf(pod) ?? [])));
  for (const status of statuses) {
    const reported = reportedFailure(lastEnd(status));
    if (reported !== undefined) return reported;
  }
  return statuses.map(crashLoop).find((failure) => failure !== undefined);
}

function lastEnd({ state, lastState }: ContainerStatus): Terminated | undefined {
  return state?.terminated ?? lastState?.terminated;
}

/** What the runtime wrote last as it ended, when the code could not be loaded; before it are lines of what it printed. */
function reportedFailure(end: Terminated | undefined): WorkloadFailure | undefined {
  try {
    const last = end?.message?.trimEnd().split('\n').at(-1) ?? '';
    const { reason, message } = JSON.parse(last) as { reason?: unknown; message?: unknown };
    if ((reason !== 'ExportError' && reason !== 'LoadError') || typeof message !== 'string') return undefined;
    return { reason, message };
  } catch {
    return undefined;
  }
}

function crashLoop(status: ContainerStatus): WorkloadFailure | undefined {
  const end = lastEnd(status);
  const ends = status.restartCount + (status.state?.running === undefined ? 1 : 0);
  if (end === undefined || ends < CRASH_LOOP || ranMs(end) >= STABLE_MS) return undefined;
  return { reason: 'CrashLoop', message: `Instances ended ${ends} times in a row. ${endMessage(end)}` };
}

function ranMs({ startedAt, finishedAt }: Terminated): number {
  const ms = Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? '');
  return Number.isNaN(ms) ? 0 : ms;
}

/** One sentence for a person, then the last lines of what it printed. */
function endMessage(end: Terminated): string {
  // Lines of JSON are the runtime's log for collectors; the function's own log has them.
  const lines = (end.message ?? '')
    .replace(CONTROL, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('{'));
  return [sentence(end), ...lines.slice(-LINES)].join('\n');
}

function sentence({ reason, exitCode }: Terminated): string {
  if (reason === 'OOMKilled')
    return 'The instance was killed because it used more memory than spec.resources.memoryMiB.';
  if (exitCode === 137) return 'The instance was killed (SIGKILL), as it is when its event loop is blocked.';
  if (exitCode === 134) return 'The instance aborted (SIGABRT), as it does when its heap is full.';
  return `The instance exited with code ${exitCode}.`;
}
