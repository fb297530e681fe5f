/** Every way in which a domain operation is refused; the manager maps each to one status. */
export const ERROR_CODES = [
  'validation_failed',
  'unauthorized',
  'forbidden',
  'not_found',
  'conflict',
  'precondition_failed',
  'too_large',
  'unsupported_media_type',
  'method_not_allowed',
  'request_timeout',
  'throttled',
  'unavailable',
  'internal_error',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** One offending field: `path` in the caller's own terms (`cors.credentials`). */
export interface ErrorDetail {
  path: string;
  message: string;
}

/** What services and stores throw. The message is a sentence for the caller: no stack, path or dependency text. */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;

  constructor(code: ErrorCode, message: string, details?: ErrorDetail[]) {
    super(message);
    this.name = 'DomainError';
    this.code = code;
    this.details = details;
  }
}

/**
 * Whether the error is a DomainError, of the code when one is given. By name, because each realm has its own copy of a
 * class.
 */
export function isDomainError(error: unknown, code?: ErrorCode): error is DomainError {
  if (!(error instanceof Error) || error.name !== 'DomainError') return false;
  return code === undefined || (error as DomainError).code === code;
}

export const notFound = (message: string): DomainError => new DomainError('not_found', message);
export const conflict = (message: string): DomainError => new DomainError('conflict', message);
export const invalid = (message: string, details?: ErrorDetail[]): DomainError =>
  new DomainError('validation_failed', message, details);
