import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express from 'express';
import { type DomainError, invalid, notFound } from '@wherry/core/errors.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import { BadKeyThrottle } from '@wherry/service/bad-key-throttle.ts';
import { requestIdOf } from '@wherry/service/request-id.ts';
import { trustedNetworks } from '@wherry/service/trusted-networks.ts';
import type { AuditActor } from '../audit/audit-record.ts';
import type { Auditor } from '../audit/auditor.ts';
import type { Route } from './endpoint.ts';
import type { EventStreams } from './event-stream.ts';
import { toDomainError } from './error-mapper.ts';
import { mountEndpoints, unauthorized, type RequestState } from './mount-endpoints.ts';
import { connectionOf } from './connection.ts';
import { readPeer } from './peer.ts';
import type { Authenticate } from './principal.ts';
import { sendError } from './reply.ts';
import { ThrottledError } from './throttled-error.ts';

interface ListenerOptions {
  routes: readonly Route[];
  /** Whom the request's credentials identify; undefined for missing and invalid ones. */
  authenticate: Authenticate;
  /** Who a request without valid credentials claims to be; undefined where it has no key at all. */
  claimantOf: (request: IncomingMessage) => AuditActor | undefined;
  auditor: Auditor;
  streams: EventStreams;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  trustedProxies: readonly string[];
  /** It listens on a socket that the router alone uses, which says whose connection it is. */
  isBehindRouter: boolean;
  /** Sign-in over plain HTTP is allowed from anywhere. */
  allowPlainCookies: boolean;
}

const NOBODY: AuditActor = { type: 'key', id: null, name: '(no credentials)' };

/** The management port's listener: request id → target → caller → endpoint → answer. */
export function buildListener(options: ListenerOptions): RequestListener {
  const states = new WeakMap<IncomingMessage, RequestState>();
  const trusted = trustedNetworks(options.trustedProxies);
  const peerOf = readPeer({ trusted, isBehindRouter: options.isBehindRouter });
  const throttle = new BadKeyThrottle(options.clock);
  const stateOf = (request: IncomingMessage): RequestState => {
    const state = states.get(request);
    if (state === undefined) throw new Error('a request has no state');
    return state;
  };
  const handle = buildApp(options, stateOf);
  // A valid key is refused too, where only a session or a password counts.
  const showsBadKey = (request: IncomingMessage): boolean =>
    stateOf(request).principal === undefined && options.claimantOf(request) !== undefined;

  const fail = (thrown: unknown, request: IncomingMessage, response: ServerResponse): void => {
    const { requestId, principal, clientAddress } = stateOf(request);
    if (callerLeft(thrown, request)) {
      response.destroy();
      return;
    }
    let error = toDomainError(thrown);
    // The router's own refusals (a bad escape) come before any endpoint authenticates the caller.
    if (thrown instanceof URIError && principal === undefined) error = unauthorized();
    if (error.code === 'internal_error')
      options.logger.error({ err: thrown, requestId, method: request.method }, 'a request failed');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const isBadKey = error.code === 'unauthorized' && showsBadKey(request);
    const retryAfter = isBadKey ? throttle.badKey(clientAddress ?? '') : undefined;
    sendError(response, retryAfter === undefined ? error : tooManyBadKeys(retryAfter), requestId);
  };

  return (request, response) => {
    const peer = peerOf(request);
    const requestId = requestIdOf(peer.isTrusted ? request.headersDistinct['x-request-id']?.join() : undefined);
    response.setHeader('X-Request-Id', requestId);
    const connection = connectionOf(request, peer, options.allowPlainCookies);
    const state: RequestState = {
      requestId,
      principal: undefined,
      clientAddress: peer.client,
      connection,
      shownKey: request.headersDistinct['x-api-key']?.join(),
      claimant: () => options.claimantOf(request) ?? NOBODY,
    };
    states.set(request, state);
    try {
      states.set(request, { ...state, principal: options.authenticate(request, connection, 'use') });
      checkTarget(request);
    } catch (error) {
      fail(error, request, response);
      return;
    }
    handle(request, response, (thrown) => fail(thrown, request, response));
  };
}

type Handle = (request: IncomingMessage, response: ServerResponse, next: (thrown: unknown) => void) => void;

function buildApp(
  { clock, routes, auditor, metrics, authenticate, streams }: ListenerOptions,
  stateOf: (request: IncomingMessage) => RequestState,
): Handle {
  const app = express();
  app.disable('x-powered-by');
  app.set('strict routing', true);
  app.set('case sensitive routing', true);
  const duration = metrics.histogram(METRICS.managementRequestDuration);
  app.use(mountEndpoints({ routes, stateOf, auditor, clock, duration, authenticate, streams }));
  app.use((request, response) => {
    requireKnownCaller(request, stateOf(request));
    throw notFound(`There is nothing at this path: ${response.req.url.split('?', 1)[0] ?? ''}`);
  });
  return app;
}

/** The caller disconnected during its request or the answer: there is nobody to answer, and nothing is wrong. */
function callerLeft(thrown: unknown, request: IncomingMessage): boolean {
  if (request.destroyed && !request.complete) return true;
  return thrown instanceof Error && (thrown as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
}

/** R10's rule on this port (M10): only callers with an invalid key ever get this answer. */
function tooManyBadKeys(retryAfter: number): DomainError {
  return new ThrottledError(
    'Too many invalid keys were sent from this address. The Retry-After header says when to try again.',
    retryAfter,
  );
}

function requireKnownCaller(request: IncomingMessage, state: RequestState): void {
  const api = /^\/api(?:[/?]|$)/.test(request.url ?? '');
  if (api && state.principal === undefined) throw unauthorized();
}

/** express's URL parser rewrites what lies outside this (a `\` after a `#`, say): no such target gets this far. */
function checkTarget(request: IncomingMessage): void {
  const target = request.url ?? '';
  if (target.startsWith('/') && /^[!-~]+$/.test(target) && !target.includes('#')) return;
  throw invalid('The request target must be a path of printable ASCII: write other characters as %XX.');
}
