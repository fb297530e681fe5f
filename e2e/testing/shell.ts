import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomUUID } from 'node:crypto';

/** A bash that is given commands as a person types them, and keeps its variables from one to the next. */
export class Shell {
  readonly #bash: ChildProcessWithoutNullStreams;
  #look: () => void = () => undefined;
  #output = '';

  constructor(folder: string, environment: Record<string, string>) {
    this.#bash = spawn('bash', [], { cwd: folder, env: environment });
    for (const stream of [this.#bash.stdout, this.#bash.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString();
        this.#look();
      });
    }
    this.#bash.on('exit', () => this.#look());
  }

  /** Types the text, and waits for its last command's end. @returns what was printed, and that command's exit code. */
  type(text: string): Promise<{ output: string; exitCode: number }> {
    const mark = randomUUID();
    const end = new RegExp(`(\\d+):${mark}$`);
    const typed = Promise.withResolvers<{ output: string; exitCode: number }>();
    this.#look = () => {
      const found = end.exec(this.#output);
      if (found !== null) typed.resolve({ output: this.#output.slice(0, found.index), exitCode: Number(found[1]) });
      else if (this.#bash.exitCode !== null)
        typed.reject(new Error(`bash ended with ${this.#bash.exitCode}:\n${this.#output}`));
    };
    this.#output = '';
    this.#bash.stdin.write(`${text}\nprintf '%s' "$?:${mark}"\n`);
    return typed.promise;
  }

  /** Ends the shell. */
  close(): void {
    this.#bash.kill('SIGKILL');
  }
}
