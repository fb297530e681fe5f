import type { ChildProcess } from 'node:child_process';
import process from 'node:process';
import type { Duplex } from 'node:stream';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { spawnChild } from '@wherry/service/spawn-child.ts';
import type { BuildIdentity } from '../build-identity.ts';
import type { BuildProgram } from './build-program.ts';
import { groupLeader, type GroupLeader, type ProcessExit } from './group-leader.ts';

interface ChildOptions {
  memoryBytes: number;
  identity?: BuildIdentity | undefined;
}

/** How Node's process ended, and the final output of esbuild's, which may complain that its reader is gone. */
export interface BuildExit extends ProcessExit {
  esbuildStderr: string;
}

/**
 * The processes of one build: Node's and esbuild's. Both are our own children, so that we reap both however they end
 * (`docs/adr/0023-every-process-has-a-parent.md`).
 */
export interface BuildChild {
  /** Node's and esbuild's: each leads a process group. */
  readonly pids: readonly number[];
  readonly channel: FeedChannel;
  /** Resolves when both, and all that they started, are gone. */
  readonly exited: Promise<BuildExit>;
  readonly alive: boolean;
  /** Ends everything, at once. */
  kill(): void;
}

/** @throws Error when a process cannot be started; then none stays. */
export async function startBuildChild(program: BuildProgram, options: ChildOptions): Promise<BuildChild> {
  const esbuildProcess = spawnEsbuild(program, options);
  const esbuildStarts = groupLeader(esbuildProcess);
  // Then there is nothing to pass to Node.
  if (esbuildProcess.pid === undefined) await esbuildStarts;
  try {
    // In the same turn of the event loop, so that we read nothing of esbuild's output.
    const nodeProcess = spawnNode(program, options, esbuildProcess);
    const node = await groupLeader(nodeProcess);
    const esbuild = await esbuildStarts;
    nodeProcess.once('exit', () => esbuild.kill());
    nodeProcess.stdin?.on('error', () => undefined);
    nodeProcess.stdin?.end(program.code);
    // `BlobResponder` bounds what waits for the process.
    const channel = jsonLines(nodeProcess.stdio[3] as Duplex, { maxBufferedBytes: Infinity });
    return buildChild(channel, node, esbuild);
  } catch (error) {
    (await esbuildStarts).kill();
    throw error;
  } finally {
    // Node's process alone holds the other ends now: when it is gone, esbuild ends by itself, even if we are gone too.
    esbuildProcess.stdin?.destroy();
    esbuildProcess.stdout?.destroy();
  }
}

function buildChild(channel: FeedChannel, node: GroupLeader, esbuild: GroupLeader): BuildChild {
  const exits = Promise.all([node.exited, esbuild.exited]);
  return {
    pids: [node.pid, esbuild.pid],
    channel,
    exited: exits.then(([exit, { stderr }]) => ({ ...exit, esbuildStderr: stderr })),
    get alive() {
      return node.alive && esbuild.alive;
    },
    kill() {
      node.kill();
      esbuild.kill();
    },
  };
}

/**
 * B1: nothing of the service's environment, and no folder. `detached` makes a group, and Node drops supplementary
 * groups.
 */
const apart = ({ identity }: ChildOptions) => ({ cwd: '/', detached: true, ...identity });

function spawnEsbuild({ esbuildBinary, esbuildArguments }: BuildProgram, options: ChildOptions): ChildProcess {
  return spawnChild(esbuildBinary, esbuildArguments, {
    ...apart(options),
    // It rarely collects garbage, because most builds end before it would help; beyond its half of the memory it
    // collects more often.
    env: { GOGC: '400', GOMEMLIMIT: `${Math.floor(options.memoryBytes * 0.45)}` },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

function spawnNode(program: BuildProgram, options: ChildOptions, esbuild: ChildProcess): ChildProcess {
  return spawnChild(
    process.execPath,
    [...nodeFlags(program, options.memoryBytes), '-', program.esbuildFile, program.honoFolder],
    {
      ...apart(options),
      env: {},
      // As `inherited-esbuild.ts` takes the last two.
      stdio: ['pipe', 'ignore', 'pipe', 'pipe', esbuild.stdin, esbuild.stdout],
    },
  );
}

/**
 * The permission model keeps Node's own file calls to the two packages, and it may start no process. esbuild is a
 * native program, which this model cannot restrict. The real boundaries are that no file is ever requested
 * (`sources-plugin.ts`), and the separate uid.
 */
function nodeFlags({ readable }: BuildProgram, memoryBytes: number): string[] {
  return [
    '--permission',
    ...readable.map((folder) => `--allow-fs-read=${folder}`),
    '--disable-sigusr1',
    // Packages arrive in large, short-lived strings.
    '--min-semi-space-size=16',
    '--max-semi-space-size=32',
    // esbuild's own process needs the other half.
    `--max-old-space-size=${Math.max(32, Math.floor(memoryBytes / 2 / 1024 / 1024))}`,
  ];
}
