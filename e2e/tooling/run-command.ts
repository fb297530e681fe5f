import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import path from 'node:path';

/** The repository's root. */
export const root = path.resolve(import.meta.dirname, '../..');

const bin = path.join(root, 'node_modules/.bin');

/** As in `npm start`: thousands of processes load the same modules in a run, a third of whose time is their compilation. */
export const compileCache = { NODE_COMPILE_CACHE: path.join(root, 'node_modules/.cache/wherry') };

/** The environment of every tool and test: the pinned Node and the tools of `npm ci` come first in PATH. */
export function toolEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, ...compileCache, PATH: `${bin}${path.delimiter}${process.env['PATH'] ?? ''}` };
}

/**
 * Runs a program at the root with our own output, and waits for its end.
 * @param silenceMinutes after so long without a line the program counts as stuck: it is ended with all that it started.
 * @returns the exit code; 1 when a signal ended it or it could not be started
 */
export function runCommand(command: string, args: readonly string[], silenceMinutes?: number): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: toolEnvironment(),
      stdio: [
        'ignore',
        silenceMinutes === undefined ? 'inherit' : 'pipe',
        silenceMinutes === undefined ? 'inherit' : 'pipe',
      ],
    });
    if (silenceMinutes !== undefined) endWhenSilent(child, command, silenceMinutes);
    child.once('error', (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      resolve(1);
    });
    child.once('close', (code, signal) => {
      if (signal !== null) console.error(`${command} was ended by ${signal}`);
      resolve(code ?? 1);
    });
  });
}

/** Forwards the output, and ends a program that is stuck, so that a run of hours becomes a failure that says where. */
function endWhenSilent(child: ChildProcess, command: string, minutes: number): void {
  const timer = setTimeout(() => {
    console.error(`${command} printed nothing for ${minutes} minutes and is ended. What it ran:`);
    console.error(spawnSync('ps', ['--no-headers', '-eo', 'pid,ppid,etime,stat,args'], { encoding: 'utf8' }).stdout);
    child.kill('SIGKILL');
    // Its own children hold the pipes: without this the end of the output would never come.
    child.stdout?.destroy();
    child.stderr?.destroy();
  }, minutes * 60_000);
  child.once('close', () => clearTimeout(timer));
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    from?.on('data', (chunk: Buffer) => {
      timer.refresh();
      to.write(chunk);
    });
  }
}
