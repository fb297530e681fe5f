import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { request } from 'node:http';

/** How often a started program is polled until it answers. */
const POLL_EVERY_MS = 5;
const START_DEADLINE_MS = 60_000;

interface NpmStartOptions {
  /** Folder of the package whose `start` script is run. */
  folder: string;
  environment: Record<string, string>;
}

/** `npm start` that runs. */
export interface NpmStart {
  /** Of npm itself. What it started are its descendants. */
  pid: number;
  /** Polls until the answer is 200. @returns milliseconds from the start of npm to the answer. */
  answered(url: string): Promise<number>;
  /** Ends npm and what it started as Ctrl-C in a terminal does; resolves when npm is gone. */
  stop(): Promise<void>;
}

/** `npm start` as a person types it: npm by its own Node, not by the one that runs this bench. */
export function npmStart({ folder, environment }: NpmStartOptions): NpmStart {
  const { PATH = '', HOME = '' } = process.env;
  const own = PATH.split(path.delimiter).filter((entry) => !entry.includes(`${path.sep}node_modules${path.sep}`));
  const since = performance.now();
  const child = spawn('npm', ['start'], {
    cwd: folder,
    env: { PATH: own.join(path.delimiter), HOME, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, 'exit');
  const { pid } = child;
  if (pid === undefined) throw new Error('npm cannot be started');
  return {
    pid,
    async answered(url) {
      while ((await status(url)) !== 200) {
        if (child.exitCode !== null || performance.now() - since > START_DEADLINE_MS)
          throw new Error(`npm start in ${folder} does not answer:\n${output}`);
        await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
      }
      return performance.now() - since;
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) process.kill(-pid, 'SIGINT');
      await exited;
    },
  };
}

/** One GET on a new connection; undefined where nothing listens. */
function status(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = request(url, { agent: false, timeout: 5000 }, (response) => {
      response.resume().on('close', () => resolve(response.statusCode));
    });
    probe
      .on('timeout', () => probe.destroy())
      .on('error', () => resolve(undefined))
      .end();
  });
}

/** A port of the loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
