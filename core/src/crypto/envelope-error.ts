/**
 * `malformed`: no envelope, or one cut short. `unknown_format`: of a newer Wherry. `unknown_key`: its key version is
 * not in the ring. `not_authentic`: changed, moved, or of another ring. `no_envelope`: the field refers to a Kubernetes
 * Secret instead.
 */
type EnvelopeErrorCode = 'malformed' | 'unknown_format' | 'unknown_key' | 'not_authentic' | 'no_envelope';

/** A confidential value that does not open. The message never holds any of it, nor of the envelope. */
export class EnvelopeError extends Error {
  readonly code: EnvelopeErrorCode;

  /** @param problem completes the sentence "The encrypted value …". */
  constructor(code: EnvelopeErrorCode, problem: string) {
    super(`The encrypted value ${problem}.`);
    this.name = 'EnvelopeError';
    this.code = code;
  }
}

/** By name: a class has an identity a realm. */
export function isEnvelopeError(error: unknown): error is EnvelopeError {
  return error instanceof Error && error.name === 'EnvelopeError';
}
