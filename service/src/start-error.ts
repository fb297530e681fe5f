/** Why a program does not start: one line for a person. `main.ts` prints it and exits with 1. */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StartError';
  }
}

/** Whether the error is a StartError; by name, since a class has an identity a realm. */
export function isStartError(error: unknown): error is StartError {
  return error instanceof Error && error.name === 'StartError';
}

/**
 * What a program that an error ends prints of it: a StartError's one line; of others, which are our own mistakes, the
 * stack.
 */
export function fatalMessage(error: unknown): string {
  if (isStartError(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
