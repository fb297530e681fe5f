import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { descendants, stillRunning } from '../testing/processes.ts';
import { clusterFolder, type ClusterUrls, type Forwarder } from './cluster-state.ts';

/** Starts it; it outlives this process unless it is bound. */
export async function startForwarder(name: string, { bound }: { bound: boolean }): Promise<Forwarder> {
  const program = [process.execPath, path.join(import.meta.dirname, 'forwarder.ts'), name];
  const [command = '', ...args] = bound ? ['setpriv', '--pdeathsig', 'KILL', ...program] : program;
  // Whoever waits for the end of our output must not wait for this process.
  const log = openSync(path.join(clusterFolder(name), 'forwarder.log'), 'a');
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', log], detached: true });
  closeSync(log);
  const ended = once(child, 'exit').then(() =>
    Promise.reject(new Error("the process that leads to the cluster's Services ended")),
  );
  ended.catch(() => undefined);
  if (child.stdout === null) throw new Error('its standard output is a pipe of ours');
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer];
  child.stdout.destroy();
  child.unref();
  const found = descendants(process.pid).find(({ pid }) => pid === child.pid);
  if (found === undefined) throw new Error("the process that leads to the cluster's Services ended");
  return { process: found, urls: JSON.parse(line.toString()) as ClusterUrls };
}

export function endForwarder({ process: forwarder }: Forwarder): void {
  for (const { pid } of stillRunning([forwarder])) process.kill(pid, 'SIGKILL');
}
