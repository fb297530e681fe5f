import { spawn } from "node:child_process";
import path from "node:path";

/** The repository's root. */
export const root = path.resolve(import.meta.dirname, "../..");

const bin = path.join(root, "node_modules/.bin");

/** The environment of every tool and test: the pinned Node and the tools of `npm ci` come first in PATH. */
export function toolEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${bin}${path.delimiter}${process.env["PATH"] ?? ""}` };
}

/**
 * Runs a program at the root with our own output, and waits for its end.
 * @returns the exit code; 1 when a signal ended it or it could not be started
 */
export function runCommand(command: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, env: toolEnvironment(), stdio: ["ignore", "inherit", "inherit"] });
    child.once("error", (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      resolve(1);
    });
    child.once("close", (code, signal) => {
      if (signal !== null) console.error(`${command} was ended by ${signal}`);
      resolve(code ?? 1);
    });
  });
}
