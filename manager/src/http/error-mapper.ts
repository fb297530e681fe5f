import { DomainError, isDomainError, type ErrorCode, type ErrorDetail } from '@wherry/core/errors.ts';

/** How a code is answered. `retryAfter` in seconds. */
interface ErrorAnswer {
  status: number;
  title: string;
  retryAfter?: number;
}

/** The one place that knows the status of a code. `docs/reference/errors.md` lists the same. */
export const ERROR_ANSWERS: Record<ErrorCode, ErrorAnswer> = {
  validation_failed: { status: 400, title: 'The request is malformed or a field fails validation.' },
  unauthorized: {
    status: 401,
    title: 'Missing or invalid credentials, or a valid key of a group without management access.',
  },
  forbidden: { status: 403, title: 'The caller is allowed, the act is not.' },
  not_found: { status: 404, title: 'What the path or a filter names does not exist.' },
  method_not_allowed: { status: 405, title: 'The path exists, not with this method; Allow lists those it has.' },
  request_timeout: { status: 408, title: 'The body did not arrive in time.' },
  conflict: { status: 409, title: 'It exists already, or the state does not allow it.' },
  precondition_failed: { status: 412, title: 'If-Match or If-None-Match does not hold: the file has changed.' },
  too_large: { status: 413, title: 'The body or a file in it is over its limit.' },
  unsupported_media_type: { status: 415, title: 'The content type or encoding of the body is not accepted here.' },
  throttled: { status: 429, title: 'Too many requests; try again after Retry-After seconds.', retryAfter: 60 },
  internal_error: { status: 500, title: 'A fault of the service; its log has the details under the request id.' },
  unavailable: {
    status: 503,
    title: 'The store is not available; try again after Retry-After seconds.',
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
 * What any thrown thing becomes. Anything but a DomainError is a fault of ours: its text is for the log, not the
 * caller.
 */
export function toDomainError(thrown: unknown): DomainError {
  if (isDomainError(thrown)) return thrown;
  // express's router: an escape in the path that is not UTF-8.
  if (thrown instanceof URIError)
    return new DomainError('validation_failed', 'The path holds a bad escape: write UTF-8 as %XX.');
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
