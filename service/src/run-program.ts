import process from 'node:process';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { onStopSignal } from './on-stop-signal.ts';
import { requireNode24 } from './require-node.ts';
import { fatalMessage } from './start-error.ts';

/** A program that has started. */
export interface RunningProgram {
  /** @param reason the signal, or that it ended by itself */
  stop(reason: string): Promise<void>;
  /** Resolves with the reason when it must stop without a signal. */
  ended?: Promise<string>;
}

interface ProgramOptions {
  /** The prefix of its fatal message: `wherry router`. */
  name: string;
  start: () => Promise<RunningProgram>;
  /** An unfinished start may be abandoned anywhere: a stop meanwhile does not wait for it. */
  mayEndWhileStarting?: boolean;
  /** A stop that takes longer ends the program with exit code 1. */
  stopWithinMs?: number;
  clock: Clock;
}

/**
 * Runs a program from its start to its exit: 0 after it was stopped, also where the signal came while it started; 1,
 * and one line on standard error, after a failure, and 1 after a second request to stop.
 */
export function runProgram(options: ProgramOptions): void {
  const { name, clock, mayEndWhileStarting = false } = options;
  requireNode24(name);
  const signalled = Promise.withResolvers<string>();
  let hasStarted = false;
  // Before the start: a signal that comes meanwhile counts.
  onStopSignal(clock, (signal) => {
    if (mayEndWhileStarting && !hasStarted) process.exit(0);
    signalled.resolve(signal);
  });

  async function run(): Promise<void> {
    const running = await options.start();
    hasStarted = true;
    const reason = await Promise.race([signalled.promise, ...(running.ended === undefined ? [] : [running.ended])]);
    if (options.stopWithinMs !== undefined) clock.after(options.stopWithinMs, () => process.exit(1));
    await running.stop(reason);
    process.exit(0);
  }

  run().catch((error: unknown) => {
    process.stderr.write(`${name}: ${fatalMessage(error)}\n`);
    process.exit(1);
  });
}
