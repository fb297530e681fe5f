import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';

export interface CommandResult {
  /** The exit code; 128 and more when a signal ended it, as a shell has it. */
  code: number;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  /** What it reads on its standard input; nothing when omitted. */
  input?: string | Buffer;
  /** Its whole environment; ours when omitted. */
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** It is killed after this long, and its code is 137. */
  timeoutMs?: number;
}

/** How a program is started: on this machine, or in namespaces. */
export type Start = (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess;

const LINES_OF_A_FAILURE = 15;
const CODE_OF_A_SIGNAL = 137;

/** A program that failed; the message has the end of its output. */
export class CommandFailed extends Error {
  readonly result: CommandResult;

  constructor(command: string, args: readonly string[], result: CommandResult) {
    const said = (result.stderr.trim() || result.stdout.trim()).split('\n').slice(-LINES_OF_A_FAILURE).join('\n');
    super(`${[command, ...args].join(' ').slice(0, 300)} ended with ${result.code}:\n${said}`);
    this.name = 'CommandFailed';
    this.result = result;
  }
}

/** Runs a program to its end. @throws Error when it cannot be started */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: CommandOptions & { start?: Start } = {},
): Promise<CommandResult> {
  const start: Start = options.start ?? spawn;
  const child = start(command, args, {
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs, killSignal: 'SIGKILL' as const }),
  });
  // A program that ends before it has read everything is not an error of ours: its exit code shows the outcome.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(options.input);
  const stdout = collect(child, 'stdout');
  const stderr = collect(child, 'stderr');
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${command} could not be started: ${error.message}`)));
    child.once('close', (exitCode) => resolve(exitCode ?? CODE_OF_A_SIGNAL));
  });
  return { code, stdout: stdout(), stderr: stderr() };
}

/** The same, of a program that must succeed: what it wrote on its standard output. @throws CommandFailed */
export async function mustRun(...[command, args, options]: Parameters<typeof runProgram>): Promise<string> {
  const result = await runProgram(command, args, options);
  if (result.code !== 0) throw new CommandFailed(command, args, result);
  return result.stdout;
}

function collect(child: ChildProcess, name: 'stdout' | 'stderr'): () => string {
  const chunks: Buffer[] = [];
  child[name]?.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}
