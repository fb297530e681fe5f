import { DomainError, isDomainError, type ErrorCode, type ErrorDetail } from '@wherry/core/errors.ts';

/** How a code is answered. `retryAfter` in seconds. */
interface ErrorAnswer {
  status: number;
  title: string;
  retryAfter?: number;
}

/** The only code that knows the status of an error code. `docs/reference/errors.md` lists the same. */
export const ERROR_ANSWERS: Record<ErrorCode, ErrorAnswer> = {
  validation_failed: { status: 400, title: 'The request is malformed or a field fails validation.' },
  unauthorized: {
    status: 401,
    title: 'Missing or invalid credentials, or a valid key of a group without management access.',
  },
  forbidden: { status: 403, title: 'The caller is authenticated, but this operation is not allowed.' },
  not_found: { status: 404, title: 'The object that the path or a filter names does not exist.' },
  method_not_allowed: {
    status: 405,
    title: 'The path does not support this method; Allow lists the methods that it does.',
  },
  request_timeout: { status: 408, title: 'The body did not arrive in time.' },
  conflict: { status: 409, title: 'The object already exists, or its state does not allow the operation.' },
  precondition_failed: { status: 412, title: 'If-Match or If-None-Match is not met: the file has changed.' },
  too_large: { status: 413, title: 'The body or a file in it exceeds its limit.' },
  unsupported_media_type: { status: 415, title: 'The content type or encoding of the body is not accepted here.' },
  throttled: {
    status: 429,
    title: 'Too many requests. The Retry-After header says when to try again.',
    retryAfter: 60,
  },
  internal_error: { status: 500, title: 'The service failed; its log has the details under the request id.' },
  unavailable: {
    status: 503,
    title: 'The store is not available. The Retry-After header says when to try again.',
    retryAfter: 5,
  },
};

/** The error body, the same on both ports. */
interface ErrorBody {
  error: string;
  code: ErrorCode;
  requestId: string;
  details?: ErrorDetail[];
}

/**
 * Converts anything that was thrown. Anything but a DomainError is a bug of ours: its text is for the log, not for the
 * caller.
 */
export function toDomainError(thrown: unknown): DomainError {
  if (isDomainError(thrown)) return thrown;
  // express's router: an escape in the path that is not UTF-8.
  if (thrown instanceof URIError)
    return new DomainError('validation_failed', 'The path contains an invalid escape: write UTF-8 bytes as %XX.');
  return new DomainError(
    'internal_error',
    'Something went wrong in the service. Its log has the details under this request id.',
  );
}

export function errorBody(error: DomainError, requestId: string): ErrorBody {
  const hidden = error.code === 'internal_error';
  return {
    error: hidden
      ? 'Something went wrong in the service. Its log has the details under this request id.'
      : error.message,
    code: error.code,
    requestId,
    ...(error.details === undefined || hidden ? {} : { details: error.details }),
  };
}
