import { STATUS_CODES, type ServerResponse } from 'node:http';
import { OUTCOME_HEADER } from '@wherry/core/feed/invocation.ts';

/** The status of every answer that the runtime gives itself; `docs/reference/errors.md` says what to do about each. */
export const RUNTIME_ERRORS = {
  unauthorized: 401,
  bad_context: 400,
  over_capacity: 429,
  handler_error: 500,
  timeout: 504,
} as const;
export type RuntimeErrorCode = keyof typeof RUNTIME_ERRORS;

/** An answer that the runtime gives itself, in the API's error shape. */
interface RuntimeError {
  code: RuntimeErrorCode;
  message: string;
  requestId: string;
  outcome?: 'error' | 'timeout' | 'full';
}

/** Answers with an error. Nothing may have been sent yet. */
export function sendError(outgoing: ServerResponse, error: RuntimeError): void {
  const body = JSON.stringify({ error: error.message, code: error.code, requestId: error.requestId });
  const headers = ['content-type', 'application/json', 'content-length', String(Buffer.byteLength(body))];
  if (error.outcome !== undefined) headers.push(OUTCOME_HEADER, error.outcome);
  const status = RUNTIME_ERRORS[error.code];
  outgoing.writeHead(status, STATUS_CODES[status], headers);
  outgoing.end(body);
}
