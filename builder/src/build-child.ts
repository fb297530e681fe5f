import { spawn, type ChildProcess } from 'node:child_process';
import process from 'node:process';
import type { Duplex } from 'node:stream';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import type { BuildProgram } from './build-program.ts';
import { killGroup, untilGroupEnded } from './process-group.ts';

/** Enough of what the process wrote to tell why it died. */
const STDERR_CHARACTERS = 4000;

export interface BuildIdentity {
  uid: number;
  gid: number;
}

export interface BuildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The last that it wrote to its standard error: for the log, never for people. */
  stderr: string;
}

/** A process for one build, the leader of a process group of its own. */
export interface BuildChild {
  readonly pid: number;
  readonly channel: FeedChannel;
  /** Resolves when it and all that it started are gone. */
  readonly exited: Promise<BuildExit>;
  readonly alive: boolean;
  /** Ends the whole group, at once. */
  kill(): void;
}

/** @throws Error when the process cannot be started. */
export async function startBuildChild(
  program: BuildProgram,
  options: { memoryBytes: number; identity?: BuildIdentity | undefined },
): Promise<BuildChild> {
  const child = spawn(
    process.execPath,
    [...nodeFlags(program, options.memoryBytes), '-', program.esbuildFile, program.honoFolder],
    {
      // B1: nothing of the service's environment. esbuild's process collects garbage seldom, for most builds end before
      // it would help, and from its half of the memory on more often. `detached` makes the group, and Node drops
      // supplementary groups.
      env: { GOGC: '400', GOMEMLIMIT: `${Math.floor(options.memoryBytes * 0.45)}` },
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
      ...options.identity,
    },
  );
  const closed = closeOf(child);
  await started(child);
  const { pid } = child;
  if (pid === undefined) throw new Error('the build process has no id');
  const exited = closed.then(async (exit) => {
    await untilGroupEnded(pid);
    return exit;
  });
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(program.code);
  let alive = true;
  const kill = (): void => {
    if (alive) killGroup(pid);
  };
  child.once('exit', () => {
    // Whatever it started goes with it; the group's id cannot have been given anew yet.
    killGroup(pid);
    alive = false;
  });
  const channel = jsonLines(child.stdio[3] as Duplex);
  return {
    pid,
    channel,
    exited,
    kill,
    get alive() {
      return alive;
    },
  };
}

/**
 * The permission model keeps Node's own file calls to the two packages; esbuild is a program, so that it cannot be
 * kept, and may be started. The wall is that no file is ever asked for (`sources-plugin.ts`), and the other uid.
 */
function nodeFlags({ readable }: BuildProgram, memoryBytes: number): string[] {
  return [
    '--permission',
    '--allow-child-process',
    ...readable.map((folder) => `--allow-fs-read=${folder}`),
    '--disable-sigusr1',
    '--disable-warning=SecurityWarning',
    // Packages come in large strings that live a moment.
    '--min-semi-space-size=16',
    '--max-semi-space-size=32',
    // esbuild's own process needs the other half.
    `--max-old-space-size=${Math.max(32, Math.floor(memoryBytes / 2 / 1024 / 1024))}`,
  ];
}

function started(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once('spawn', resolve);
  child.once('error', reject);
  return promise;
}

function closeOf(child: ChildProcess): Promise<BuildExit> {
  const { promise, resolve } = Promise.withResolvers<BuildExit>();
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARACTERS);
  });
  // `close` comes after `exit`, when esbuild too has let go of the standard error that it shares.
  child.once('close', (code, signal) => resolve({ code, signal, stderr }));
  return promise;
}
