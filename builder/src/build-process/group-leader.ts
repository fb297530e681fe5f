import type { ChildProcess } from 'node:child_process';
import { killGroup, untilGroupEnded } from './process-group.ts';

/** Enough of what the process wrote to show why it died. */
const STDERR_CHARACTERS = 4000;

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The end of its standard error output: for the log, never for people. */
  stderr: string;
}

/** A child process that leads a process group of its own. */
export interface GroupLeader {
  readonly pid: number;
  readonly alive: boolean;
  /** Resolves when it and all that it started are gone. */
  readonly exited: Promise<ProcessExit>;
  /** Ends the whole group, at once. */
  kill(): void;
}

/**
 * @param child just spawned, `detached`, its standard error a pipe.
 * @throws Error when it could not be started.
 */
export async function groupLeader(child: ChildProcess): Promise<GroupLeader> {
  const closed = closeOf(child);
  const pid = await started(child);
  let alive = true;
  const kill = (): void => {
    if (alive) killGroup(pid);
  };
  child.once('exit', () => {
    // Whatever it started goes with it; the group's id cannot have been reused yet.
    killGroup(pid);
    alive = false;
  });
  const exited = closed.then(async (exit) => {
    await untilGroupEnded(pid);
    return exit;
  });
  return {
    pid,
    exited,
    kill,
    get alive() {
      return alive;
    },
  };
}

function started(child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('spawn', () => {
    // Group 0 would be our own.
    if (child.pid === undefined) reject(new Error('the process has no id'));
    else resolve(child.pid);
  });
  child.once('error', reject);
  return promise;
}

function closeOf(child: ChildProcess): Promise<ProcessExit> {
  const { promise, resolve } = Promise.withResolvers<ProcessExit>();
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARACTERS);
  });
  // `close` comes after `exit`, when no process holds its standard error any more.
  child.once('close', (code, signal) => resolve({ code, signal, stderr }));
  return promise;
}
