import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import { DomainError, isDomainError, notFound } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { KeyLedger } from '@wherry/core/ports/key-ledger.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { MetricsSink, TelemetrySink } from '@wherry/core/ports/telemetry.ts';
import { toDomainError } from '../http/error-mapper.ts';
import { sendError } from '../http/reply.ts';
import { collectBlobs, hasBlob, putBlob, sendBlob } from './content-requests.ts';
import { divideLimits, takeUses } from './key-requests.ts';
import { takeMetrics } from './metrics-requests.ts';
import { takeTelemetry } from './telemetry-requests.ts';

/** The program whose certificate is accepted, among those that the internal authority has issued. */
const OPERATOR_NAME = 'operator';

interface InternalListenerOptions {
  content: ContentStore;
  telemetry: TelemetrySink;
  keyLedger: KeyLedger;
  executions: MetricsSink;
  logger: Logger;
}

type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  dependencies: InternalListenerOptions,
) => Promise<void>;

const ROUTES: Record<string, Handler> = {
  'PUT /content': putBlob,
  'POST /content/collect': collectBlobs,
  'POST /telemetry': takeTelemetry,
  'POST /keys/uses': takeUses,
  'POST /telemetry/metrics': takeMetrics,
  'POST /keys/limits': divideLimits,
};
const BLOB = /^\/content\/([0-9a-f]{64})$/;

/**
 * What the operator may request. A target is compared as it came: nothing is decoded, so that nothing can be hidden in
 * it.
 */
function handlerOf({ method = '', url = '' }: IncomingMessage): Handler {
  const route = `${method} ${url}`;
  const exact = Object.hasOwn(ROUTES, route) ? ROUTES[route] : undefined;
  if (exact !== undefined) return exact;
  const digest = BLOB.exec(url)?.[1];
  if (digest !== undefined && method === 'GET')
    return (_request, response, { content }) => sendBlob(response, digest, content);
  if (digest !== undefined && method === 'HEAD')
    return (_request, response, { content }) => hasBlob(response, digest, content);
  throw notFound('The internal listener has no such endpoint.');
}

/**
 * Answers the operator's requests for blobs, takes its log entries and metrics, and keeps the ledger of keys. Behind a
 * server that has checked the client's certificate.
 */
export function buildInternalListener(options: InternalListenerOptions): RequestListener {
  const { logger } = options;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requireOperator(request);
    await handlerOf(request)(request, response, options);
  }

  return (request, response) => {
    const requestId = randomUUID();
    answer(request, response).catch((thrown: unknown) => {
      if (request.destroyed && !request.complete) return;
      const error = toDomainError(thrown);
      const fields = { requestId, method: request.method, code: error.code };
      if (error.code === 'internal_error') logger.error({ ...fields, err: thrown }, 'an internal request failed');
      else if (error.code === 'forbidden')
        logger.warn({ ...fields, peer: request.socket.remoteAddress }, error.message);
      else if (error.code !== 'not_found')
        logger.warn({ ...fields, reason: error.message }, 'an internal request was refused');
      if (response.headersSent) endDamaged(response, thrown);
      else sendError(response, error, requestId, request.complete ? {} : { Connection: 'close' });
    });
  };
}

/**
 * In the middle of a blob. The caller notices by itself that a damaged one does not match its digest once it is
 * complete; for any other error the connection is cut, and the caller retries.
 */
function endDamaged(response: ServerResponse, thrown: unknown): void {
  if (isDomainError(thrown, 'internal_error')) response.end();
  else response.destroy();
}

/** @throws DomainError `forbidden` for another program's certificate. */
function requireOperator({ socket }: IncomingMessage): void {
  // Checks `authorized` again: nothing here may depend on how the server was created.
  const isKnown = socket instanceof TLSSocket && socket.authorized;
  // An array where a certificate has two names; then neither is accepted.
  if (isKnown && socket.getPeerCertificate().subject.CN === OPERATOR_NAME) return;
  throw new DomainError('forbidden', 'Only the operator may use the internal listener.');
}
