import type { InstallFailure } from './protocol.ts';

/** Why the install process could not do what was requested. */
export class InstallError extends Error {
  override readonly name = 'InstallError';
  readonly failure: InstallFailure;

  constructor(reason: InstallFailure['reason'], message: string, packages: string[] = [], cause?: unknown) {
    super(message, { cause });
    this.failure = { reason, message, packages };
  }
}
