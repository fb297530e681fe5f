import { STATUS_CODES, type ServerResponse } from 'node:http';
import { OUTCOME_HEADER } from '@wherry/core/feed/invocation.ts';

/** An answer that the runtime gives itself, in the API's error shape. */
export interface RuntimeError {
  status: number;
  code: 'unauthorized' | 'bad_context' | 'handler_error' | 'timeout';
  message: string;
  requestId: string;
  outcome?: 'error' | 'timeout';
}

/** Answers with an error. Nothing may have been sent yet. */
export function sendError(outgoing: ServerResponse, error: RuntimeError): void {
  const body = JSON.stringify({ error: error.message, code: error.code, requestId: error.requestId });
  const headers = ['content-type', 'application/json', 'content-length', String(Buffer.byteLength(body))];
  if (error.outcome !== undefined) headers.push(OUTCOME_HEADER, error.outcome);
  outgoing.writeHead(error.status, STATUS_CODES[error.status], headers);
  outgoing.end(body);
}
