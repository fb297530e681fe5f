import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { runtimeLines } from '@wherry/service/feed/runtime-lines.ts';
import { spawnChild } from '@wherry/service/spawn-child.ts';
import type { ProcessExit } from './exit-message.ts';
import { findSetpriv } from './find-setpriv.ts';
import { launchCommand } from './launch-command.ts';
import { outputTail } from './output-tail.ts';
import type { InstanceFolder, RunDirectory } from './run-directory.ts';
import type { UidPool } from './uid-pool.ts';

/** A running runtime. It has no function until its channel is attached to the feed, which assigns one. */
export interface RuntimeProcess {
  readonly pid: number | undefined;
  readonly folder: InstanceFolder;
  readonly memoryMiB: number;
  readonly channel: FeedChannel;
  /** Resolves once and never rejects; messages that it sent before may still be in the channel. */
  readonly exited: Promise<ProcessExit>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when it has exited and nothing of it is left. */
  readonly gone: Promise<void>;
}

export interface Launcher {
  /** @throws where no further one is possible: no disk space, no descriptor, no user id. */
  launch(memoryMiB: number): RuntimeProcess;
}

interface LauncherOptions {
  run: RunDirectory;
  /** Undefined: instances run as the service's own user. */
  uids: UidPool | undefined;
  clock: Clock;
}

/** Under memory pressure the kernel ends instances before the service. */
const OOM_SCORE = '500';
const OUTPUT_WITHIN_MS = 500;
const REMOVALS = 30;
const REMOVE_AGAIN_MS = 1000;

/** Starts runtimes: each as its own user where that is possible, in its own folder, with the feed as its fd 3. */
export function createLauncher({ run, uids, clock }: LauncherOptions): Launcher {
  const setpriv = findSetpriv();
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();

  function spawnIn(folder: InstanceFolder, memoryMiB: number, uid: number | undefined): ChildProcess {
    const temporaryFolder = folder.temporary;
    const { command, args, env } = launchCommand({ ...run, temporaryFolder, memoryMiB, setpriv, timeZone });
    return spawnChild(command, args, {
      cwd: temporaryFolder,
      env,
      // A handler's output is captured inside; what remains on stderr is what Node prints when it dies.
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      // A session of its own, so that a terminal's Ctrl-C reaches only the service, which then drains.
      detached: true,
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
  }

  function launchAs(uid: number | undefined, memoryMiB: number): RuntimeProcess {
    const folder = run.createFolder(uid);
    let child: ChildProcess;
    try {
      child = spawnIn(folder, memoryMiB, uid);
    } catch (error) {
      void cleanUp(folder, undefined);
      throw error;
    }
    if (child.pid !== undefined) {
      run.record(folder, child.pid);
      exposeToOom(child.pid);
    }
    const { channel, exited } = watchChild(child, clock);
    const gone = exited.then(() => cleanUp(folder, uid));
    return { pid: child.pid, folder, memoryMiB, channel, exited, gone, kill: (signal) => void child.kill(signal) };
  }

  /**
   * The next instance with this user id must find nothing of this one. Removal is retried for a while, because a file
   * descriptor may be missing. What remains keeps its user id, and is removed when the service starts.
   */
  async function cleanUp(folder: InstanceFolder, uid: number | undefined): Promise<void> {
    for (let attempt = 1; attempt <= REMOVALS; attempt += 1) {
      try {
        await run.removeFolder(folder);
        if (uid !== undefined) uids?.give(uid);
        return;
      } catch {
        await clock.sleep(REMOVE_AGAIN_MS);
      }
    }
  }

  return {
    launch(memoryMiB) {
      const uid = uids?.take();
      try {
        return launchAs(uid, memoryMiB);
      } catch (error) {
        if (uid !== undefined) uids?.give(uid);
        throw error;
      }
    },
  };
}

function watchChild(child: ChildProcess, clock: Clock): { channel: FeedChannel; exited: Promise<ProcessExit> } {
  const tail = child.stderr === null ? undefined : outputTail(child.stderr, clock);
  // Node makes each such pipe a socket pair: one descriptor, both ways.
  const channel = runtimeLines(child.stdio[3] as Duplex, clock);
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, output: '', error }));
    child.once('exit', (code, signal) => {
      const cancel = clock.after(OUTPUT_WITHIN_MS, done);
      void tail?.ended.then(done);
      function done(): void {
        cancel();
        resolve({ code, signal, output: tail?.text() ?? '' });
      }
    });
  });
  return { channel, exited };
}

function exposeToOom(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE);
  } catch {
    // Not Linux, or the process is gone already: only a preference is lost.
  }
}
