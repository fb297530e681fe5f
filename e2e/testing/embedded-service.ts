import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineTime } from '../tooling/machine-time.ts';

/** The program of the service. */
export const MAIN = join(import.meta.dirname, '../../embedded/src/main.ts');
/** Of a machine that has nothing else to do. */
const START_DEADLINE_MS = 30_000;
const LOOK_AGAIN_MS = 1000;

export interface ServiceOptions {
  /** A folder that an earlier service left; a new one when omitted, removed by `dispose`. */
  dataDirectory?: string;
  environment?: Record<string, string>;
  /** In a process group of its own, as a shell's job is: `process.kill(-pid)` reaches it and what it started in it. */
  detached?: boolean;
  /** What starts it, in which folder; the program itself when omitted. */
  command?: { program: string; args: string[]; folder: string };
}

/** A running service, as the person who started it sees it: what it printed, and its process. */
export interface Service {
  /** Where `/run` is served, without a trailing slash. */
  functionUrl: string;
  /** Where `/api` is served, without a trailing slash. */
  managementUrl: string;
  /** Printed on the first start only. */
  managementKey: string | undefined;
  dataDirectory: string;
  process: ChildProcess;
  /** Standard output and error so far. */
  output(): string;
  /** Its exit code, once it has ended; null when a signal killed it. */
  exited: Promise<number | null>;
  /** Ends it with a signal and gives the exit code, null when the signal killed it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** `stop` where needed, and removes all files. */
  dispose(): Promise<void>;
}

/** The outcome of a start that failed. */
export class StartFailed extends Error {
  readonly exitCode: number | null;
  readonly output: string;

  constructor(exitCode: number | null, output: string) {
    super(`the service ended with ${exitCode} before it was ready:\n${output}`);
    this.name = 'StartFailed';
    this.exitCode = exitCode;
    this.output = output;
  }
}

/** The environment of a service under test: ephemeral ports on loopback, nothing inherited that could influence it. */
export function serviceEnvironment(dataDirectory: string, extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env;
  return {
    PATH,
    HOME,
    NODE_COMPILE_CACHE,
    FUNCTION_PORT: '0',
    MANAGEMENT_PORT: '0',
    OPS_PORT: '0',
    FUNCTION_HOST: '127.0.0.1',
    MANAGEMENT_HOST: '127.0.0.1',
    WHERRY_DATA_DIR: dataDirectory,
    ...extra,
  };
}

/**
 * Starts the service from the sources and waits until it says that it is ready.
 * @throws StartFailed when it ends before that.
 */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const dataDirectory = options.dataDirectory ?? (await mkdtemp(join(tmpdir(), 'wherry-e2e-')));
  const { program, args, folder } = options.command ?? { program: process.execPath, args: [MAIN], folder: undefined };
  const child = spawn(program, args, {
    cwd: folder,
    env: serviceEnvironment(dataDirectory, options.environment),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: options.detached ?? false,
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, 'close').then(() => child.exitCode);
  // A test run that crashes leaves no service behind.
  const kill = (): unknown => child.kill('SIGKILL');
  process.once('exit', kill);
  void exited.finally(() => process.off('exit', kill));
  const removeFolder = async (): Promise<void> => {
    if (options.dataDirectory === undefined) await rm(dataDirectory, { recursive: true, force: true });
  };
  await untilReady(child, exited, () => output).catch(async (error: unknown) => {
    await removeFolder();
    throw error;
  });

  async function stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return exited;
  }
  return {
    functionUrl: printed(output, /^ {2}Functions:\s+(\S+?)\/run\//m),
    managementUrl: printed(output, /^ {2}Management:\s+(\S+?)\/api\//m),
    managementKey: /^ {2}Management key, shown only now: (\S+)$/m.exec(output)?.[1],
    dataDirectory,
    process: child,
    output: () => output,
    exited,
    stop,
    async dispose() {
      await stop();
      await removeFolder();
    },
  };
}

async function untilReady(child: ChildProcess, exited: Promise<number | null>, output: () => string): Promise<void> {
  const deadline = machineTime() + START_DEADLINE_MS;
  const ended = exited.then((code) => Promise.reject(new StartFailed(code, output())));
  ended.catch(() => undefined);
  while (!output().includes('Wherry is ready')) {
    if (machineTime() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`the service was not ready within ${START_DEADLINE_MS} ms:\n${output()}`);
    }
    await Promise.race([
      ended,
      once(child.stdout ?? child, 'data', { signal: AbortSignal.timeout(LOOK_AGAIN_MS) }).catch(() => undefined),
    ]);
  }
}

function printed(output: string, pattern: RegExp): string {
  const found = pattern.exec(output)?.[1];
  if (found === undefined) throw new Error(`nothing of ${pattern.source} in what the service printed:\n${output}`);
  return found;
}
