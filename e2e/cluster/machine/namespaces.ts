import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, closeSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { descendants, stillRunning, type Process } from '../../testing/processes.ts';
import type { Start } from '../command.ts';
import type { Machine } from './machine.ts';
import { join, readLine, sendLine, type RelayAnswer, type RelayOrder } from './relay-protocol.ts';

/** Namespaces of processes, mounts and network that live as long as their first process. */
export interface Namespaces {
  /** The process outside that keeps them. */
  keeper: Process;
  /** Their first process, as the machine sees it. When it ends, all others in them do. */
  first: Process;
}

const START_LIMIT_MS = 10_000;
const END_LIMIT_MS = 20_000;
const POLL_MS = 50;

/** What every program inside starts from: a /run of its own, so that no socket of the machine is reachable. */
const SET_UP = `
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs none /run
ip link set lo up
[ -e /dev/kmsg ] || mknod /dev/kmsg c 1 11
"$@" & wait $!`;

/**
 * Starts a program in namespaces of its own, as a child of a shell that reaps orphans.
 * @param options.log what it prints goes to this file
 * @param options.bound they end when this process does; else they outlive it
 */
export async function startNamespaces(
  command: readonly string[],
  options: { log: string; bound: boolean },
): Promise<Namespaces> {
  const log = openSync(options.log, 'a');
  const bind = options.bound ? ['setpriv', '--pdeathsig', 'KILL'] : [];
  const unshare = ['unshare', '--mount', '--net', '--pid', '--fork', '--kill-child'];
  const [program = '', ...args] = [...bind, ...unshare, 'bash', '-ec', SET_UP, 'inside', ...command];
  // A session of its own: Ctrl-C is for us, and we take it down in order.
  const child = spawn(program, args, { stdio: ['ignore', log, log], detached: true });
  closeSync(log);
  child.unref();
  await once(child, 'spawn');
  const end = performance.now() + START_LIMIT_MS;
  while (child.exitCode === null && performance.now() < end) {
    const found = firstOf(child);
    if (found !== undefined) return found;
    await delay(POLL_MS);
  }
  child.kill('SIGKILL');
  throw new Error(`Namespaces could not be made: ${readFileSync(options.log, 'utf8').trim() || 'no reason was given'}`);
}

function firstOf({ pid = 0 }: ChildProcess): Namespaces | undefined {
  const below = descendants(pid);
  const first = below.find(({ parent }) => parent === pid);
  // Its own child is the program: then what comes before is set up.
  if (
    first === undefined ||
    !below.some(({ parent, command }) => parent === first.pid && !/^(mount|ip|mknod) /.test(command))
  )
    return undefined;
  const keeper = descendants(process.pid).find((candidate) => candidate.pid === pid);
  return keeper === undefined ? undefined : { keeper, first };
}

/** Whether they are still there. */
export function areAlive({ first }: Namespaces): boolean {
  return stillRunning([first]).length === 1;
}

/** Ends all that runs in them, and waits until it has ended. */
export async function endNamespaces({ keeper, first }: Namespaces): Promise<void> {
  const end = performance.now() + END_LIMIT_MS;
  while (stillRunning([first, keeper]).length > 0) {
    for (const { pid } of stillRunning([first])) process.kill(pid, 'SIGKILL');
    if (performance.now() > end) throw new Error(`Process ${first.pid} (${first.command}) does not end.`);
    await delay(POLL_MS);
  }
}

/** The arguments with which `nsenter` gets in. */
function enter({ first }: Namespaces, folder: string): string[] {
  return ['-t', String(first.pid), '-n', '-m', '-p', '--', 'env', '-C', folder];
}

/** Starts the relay inside; it ends with the namespaces. */
export async function startRelay(namespaces: Namespaces, options: { socket: string; log: string }): Promise<void> {
  await rm(options.socket, { force: true });
  const log = openSync(options.log, 'a');
  const program = [process.execPath, path.join(import.meta.dirname, 'relay.ts'), options.socket];
  const child = spawn('nsenter', [...enter(namespaces, '/'), ...program], {
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  child.unref();
  const end = performance.now() + START_LIMIT_MS;
  for (;;) {
    try {
      const socket = connect(options.socket);
      await once(socket, 'connect');
      return void socket.destroy();
    } catch {
      if (performance.now() > end) throw new Error(`The relay did not start: ${readFileSync(options.log, 'utf8')}`);
      await delay(POLL_MS);
    }
  }
}

/**
 * The namespaces as a machine.
 * @param options.socket the relay's
 * @param options.environment of every program there
 */
export function machineOf(
  namespaces: Namespaces,
  options: { socket: string; environment: Record<string, string> },
): Machine {
  const start: Start = (command, args, spawnOptions) => {
    const folder = typeof spawnOptions.cwd === 'string' ? spawnOptions.cwd : process.cwd();
    // nsenter does not forward signals: the program ends when nsenter is killed.
    const inside = [...enter(namespaces, folder), 'setpriv', '--pdeathsig', 'KILL', command, ...args];
    const env = { ...(spawnOptions.env ?? process.env), ...options.environment };
    return spawn('nsenter', inside, { ...spawnOptions, cwd: '/', env });
  };
  return {
    start,
    connect: (address) => requestRelay(options.socket, { connect: address }).then(({ socket }) => socket),
    async publish(there, ours) {
      const path = `${options.socket}.${Math.random().toString(36).slice(2, 8)}`;
      const server = createServer({ allowHalfOpen: true }, (socket) =>
        join(socket, connect({ ...ours, allowHalfOpen: true })),
      );
      server.listen(path);
      await once(server, 'listening');
      const { socket, port } = await requestRelay(options.socket, { listen: there, socket: path });
      const close = async (): Promise<void> => {
        socket.destroy();
        server.close();
      };
      return { address: { host: there.host, port }, close };
    },
  };
}

async function requestRelay(path: string, order: RelayOrder): Promise<{ socket: Socket; port: number }> {
  const socket = connect({ path, allowHalfOpen: true });
  await once(socket, 'connect');
  sendLine(socket, order);
  const answer = await readLine<RelayAnswer>(socket);
  if ('port' in answer) return { socket, port: answer.port };
  socket.destroy();
  throw new Error(`In the cluster's network: ${answer.error}`);
}
