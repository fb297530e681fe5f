/** Why a program does not start: one line for a person. `main.ts` prints it and exits with 1. */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StartError';
  }
}

/** Whether the error is a StartError; by name, because each realm has its own copy of a class. */
export function isStartError(error: unknown): error is StartError {
  return error instanceof Error && error.name === 'StartError';
}

/**
 * What a program prints about the error that ends it: the one line of a StartError; the stack of any other error, which
 * is a bug of ours.
 */
export function fatalMessage(error: unknown): string {
  if (isStartError(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
