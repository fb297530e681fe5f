import { spawn, type ChildProcess } from 'node:child_process';
import { chown, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import type { Duplex } from 'node:stream';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import type { BuildIdentity } from '../../build-child.ts';

const MAX_LINE_BYTES = 512 * 1024 * 1024;
const HEAP_MIB = 512;

export interface InstallChild {
  readonly pid: number;
  readonly channel: FeedChannel;
  /** The one folder that it may use. */
  readonly folder: string;
  /** Resolves when it and its folder are gone. */
  readonly exited: Promise<void>;
  kill(): void;
}

/** @throws Error when the process cannot be started. */
export async function startInstallChild(program: string, { identity, onStderr }: { identity: BuildIdentity | undefined; onStderr: (text: string) => void }): Promise<InstallChild> {
  const folder = await mkdtemp(path.join(await realpath(tmpdir()), 'wherry-install-'));
  if (identity !== undefined) await chown(folder, identity.uid, identity.gid);
  const flags = ['--permission', `--allow-fs-read=${folder}`, `--allow-fs-write=${folder}`, '--use-system-ca', '--disable-sigusr1', `--max-old-space-size=${HEAP_MIB}`];
  const child = spawn(process.execPath, [...flags, '-'], {
    // Nothing of the service's environment; and no folder to look for programs in, where Node would use a default one.
    env: { PATH: folder },
    // Arborist takes its working folder for real, and looks at every folder above any other.
    cwd: folder,
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
    ...identity,
  });
  const exited = exitOf(child).then(() => rm(folder, { recursive: true, force: true }));
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.stderr?.setEncoding('utf8').on('data', onStderr);
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(program);
  const channel = jsonLines(child.stdio[3] as Duplex, { maxLineBytes: MAX_LINE_BYTES, maxBufferedBytes: MAX_LINE_BYTES });
  return { pid: child.pid ?? 0, channel, folder, exited, kill: () => void child.kill('SIGKILL') };
}

function exitOf(child: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('close', () => resolve());
  child.once('error', () => resolve());
  return promise;
}
