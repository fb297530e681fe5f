/**
 * `malformed`: not an envelope, or truncated. `unknown_format`: made by a newer Wherry. `unknown_key`: its key version
 * is not in the ring. `not_authentic`: changed, moved, or made with another ring. `no_envelope`: the field refers to a
 * Kubernetes Secret instead.
 */
type EnvelopeErrorCode = 'malformed' | 'unknown_format' | 'unknown_key' | 'not_authentic' | 'no_envelope';

/** A confidential value that cannot be decrypted. The message contains no part of it or of the envelope. */
export class EnvelopeError extends Error {
  readonly code: EnvelopeErrorCode;

  /** @param problem completes the sentence "The encrypted value …". */
  constructor(code: EnvelopeErrorCode, problem: string) {
    super(`The encrypted value ${problem}.`);
    this.name = 'EnvelopeError';
    this.code = code;
  }
}

/** By name, because each realm has its own copy of a class. */
export function isEnvelopeError(error: unknown): error is EnvelopeError {
  return error instanceof Error && error.name === 'EnvelopeError';
}
