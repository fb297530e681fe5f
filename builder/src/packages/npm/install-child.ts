import type { ChildProcess } from 'node:child_process';
import { chown, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import type { Duplex } from 'node:stream';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { spawnChild } from '@wherry/service/spawn-child.ts';
import type { BuildIdentity } from '../../build-identity.ts';
import type { RegistryOptions } from '../package-registry.ts';
import type { InstallPeer } from './install-session.ts';
import { makeInstallProgram } from './install-program.ts';
import { MAX_LINE_BYTES, type InstallLimits } from './protocol.ts';

interface InstallChild extends InstallPeer {
  readonly pid: number;
  /** The one folder that it may use; it goes with the process. */
  readonly folder: string;
}

interface InstallChildOptions {
  /** With the token: it goes to the child over its pipe, so that it is in no environment, argument or file. */
  registry: RegistryOptions;
  limits: InstallLimits & { heapMiB: number };
  /** The user that the child runs as, which no build has (B1): only root can give one. */
  identity?: BuildIdentity | undefined;
  logger: Logger;
}

/** A child process that knows its registry. @throws Error when it cannot be started. */
export async function startConfiguredChild({
  registry,
  limits,
  identity,
  logger,
}: InstallChildOptions): Promise<InstallPeer> {
  const onStderr = (text: string): void => logger.warn({ stderr: text }, 'the install process wrote to stderr');
  const child = await startInstallChild(await makeInstallProgram(), { identity, onStderr, heapMiB: limits.heapMiB });
  child.channel.send({ type: 'configure', folder: child.folder, registry, limits });
  return child;
}

/** @throws Error when the process cannot be started. */
async function startInstallChild(
  program: string,
  {
    identity,
    onStderr,
    heapMiB,
  }: { identity: BuildIdentity | undefined; onStderr: (text: string) => void; heapMiB: number },
): Promise<InstallChild> {
  const folder = await mkdtemp(path.join(await realpath(tmpdir()), 'wherry-install-'));
  if (identity !== undefined) await chown(folder, identity.uid, identity.gid);
  const flags = [
    '--permission',
    `--allow-fs-read=${folder}`,
    `--allow-fs-write=${folder}`,
    '--use-system-ca',
    '--disable-sigusr1',
    `--max-old-space-size=${heapMiB}`,
  ];
  const child = spawnChild(process.execPath, [...flags, '-'], {
    // Nothing of the service's environment, and an empty PATH, because Node would otherwise use a default one.
    env: { PATH: folder },
    // Arborist trusts its working folder, and reads every folder above any other.
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
  const channel = jsonLines(child.stdio[3] as Duplex, {
    maxLineBytes: MAX_LINE_BYTES,
    maxBufferedBytes: MAX_LINE_BYTES,
  });
  return { pid: child.pid ?? 0, channel, folder, exited, kill: () => void child.kill('SIGKILL') };
}

function exitOf(child: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('close', () => resolve());
  child.once('error', () => resolve());
  return promise;
}
