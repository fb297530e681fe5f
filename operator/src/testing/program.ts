import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { compileCache } from '@wherry/testing/compile-cache.ts';

/** A program of ours as a process of its own, with its log lines. */
export class Program {
  readonly lines: string[] = [];
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;

  /** @param environment all that the program sees, beside PATH and where Node keeps what it has compiled. */
  constructor(file: string, environment: Record<string, string>) {
    this.#child = spawn(process.execPath, [file], {
      env: { PATH: '/usr/bin:/bin', NODE_OPTIONS: '--trace-warnings', ...compileCache, ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.ended = once(this.#child, 'exit').then(([code]: (number | null)[]) => code ?? null);
    if (this.#child.stderr !== null)
      createInterface({ input: this.#child.stderr }).on('line', (line) => this.lines.push(line));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** A field of the first log line that has it. */
  reported(field: string): unknown {
    for (const line of this.lines) {
      const value = fieldOf(line, field);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** What Node warns of, with where it came from. */
  warnings(): string[] {
    return this.lines.flatMap((line, at) =>
      /^\(node:\d+\) /.test(line) ? [this.lines.slice(at, at + 6).join('\n')] : [],
    );
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async stop(): Promise<void> {
    if (this.isRunning) this.kill('SIGKILL');
    await this.ended;
  }
}

function fieldOf(line: string, field: string): unknown {
  try {
    return (JSON.parse(line) as Record<string, unknown>)[field];
  } catch {
    // A line that is for a person.
    return undefined;
  }
}
