import type { IncomingMessage, ServerResponse } from 'node:http';
import { Router } from 'express';
import { z } from 'zod';
import { DomainError, notFound } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Histogram } from '@wherry/core/ports/metrics.ts';
import { isSet, type AuditedCaller, type Auditor } from '../audit/auditor.ts';
import { BodyBudget } from './body-budget.ts';
import type { Connection } from './connection.ts';
import type { AnyEndpoint, Call, Reply, Route } from './endpoint.ts';
import { EVENT_STREAM, type EventStreams } from './event-stream.ts';
import { ERROR_ANSWERS, toDomainError } from './error-mapper.ts';
import { readJson, refuseEncoding, requireJsonType } from './json-body.ts';
import { mayUse, type Authenticate, type Permission, type Principal } from './principal.ts';
import { CHALLENGE, sendBytes, sendEmpty, sendJson } from './reply.ts';
import { validate } from './validate.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/** What earlier stages determined about a request. */
export interface RequestState extends AuditedCaller {
  connection: Connection;
}

interface MountOptions {
  routes: readonly Route[];
  stateOf: (request: IncomingMessage) => RequestState;
  auditor: Auditor;
  clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Whom a request's credentials identify now: a stream may outlive them. */
  authenticate: Authenticate;
  streams: EventStreams;
  /** Labels `operation` and `code`. */
  duration: Histogram;
}

type Query = Record<string, unknown>;
const NO_QUERY = z.strictObject({});
type ExpressRequest = IncomingMessage & { params: Record<string, unknown>; query: unknown };

/**
 * An express router of all routes: each path answers its methods, and 405 with `Allow` to any other.
 * @throws Error for a route without a permission, for one that changes something without an audit action, and for one
 *   with an operation id or path and method that another has.
 */
export function mountEndpoints(options: MountOptions): Router {
  const router = Router({ strict: true, caseSensitive: true });
  const byPath = Map.groupBy(options.routes, (route) => route.endpoint.path);
  checkRoutes(options.routes);
  const budget = new BodyBudget();
  for (const [path, routes] of byPath) {
    const mounted = router.route(path);
    for (const route of routes) {
      mounted[route.endpoint.method]((request, response) => {
        requireExistence(route);
        return answer(route, { ...options, budget }, request, response);
      });
    }
    const allow = allowed(routes).join(', ');
    mounted.all((request, response) => {
      routes.forEach(requireExistence);
      requireCaller(routes, options.stateOf(request).principal);
      response.setHeader('Allow', allow);
      throw new DomainError('method_not_allowed', `This path supports only ${allow}.`);
    });
  }
  return router;
}

function checkRoutes(routes: readonly Route[]): void {
  const ids = new Set<string>();
  for (const { endpoint } of routes) {
    // A declaration that bypassed the type check.
    if ((endpoint.permission as string | undefined) === undefined)
      throw new Error(`${endpoint.operationId} declares no permission`);
    if (endpoint.method !== 'get' && (endpoint.audit as object | undefined) === undefined)
      throw new Error(`${endpoint.operationId} declares no audit action`);
    for (const id of [endpoint.operationId, `${endpoint.method} ${endpoint.path}`]) {
      if (ids.has(id)) throw new Error(`${id} is declared twice`);
      ids.add(id);
    }
  }
}

function allowed(routes: readonly Route[]): string[] {
  const methods = routes.map((route) => route.endpoint.method.toUpperCase());
  return (methods.includes('GET') ? [...methods, 'HEAD'] : methods).sort();
}

function requireExistence({ exists }: Route): void {
  if (exists?.() === false) throw notFound('There is nothing at this path now.');
}

/** 401 comes before 405: only callers that may use one of the path's methods learn which methods exist. */
function requireCaller(routes: readonly Route[], principal: Principal | undefined): void {
  if (!routes.some((route) => mayUse(route.endpoint.permission, principal))) throw unauthorized(principal);
}

/**
 * The one answer to missing, unknown, disabled and expired keys and to keys without management access.
 * @param principal a caller with a valid key, where only a session will do.
 */
export function unauthorized(principal?: Principal): DomainError {
  return new DomainError(
    'unauthorized',
    principal === undefined
      ? 'A valid management key or session is required: send the key as X-API-Key, or sign in.'
      : 'A session is required here: sign in, and send the cookie without a key.',
  );
}

async function answer(
  route: Route,
  options: MountOptions & { budget: BodyBudget },
  request: ExpressRequest,
  response: ServerResponse,
): Promise<void> {
  const { endpoint } = route;
  const state = options.stateOf(request);
  const params = paramsOf(endpoint, request);
  const begun = options.clock.monotonic();
  const observe = (status: number): void => {
    options.duration.observe((options.clock.monotonic() - begun) / 1000, {
      operation: endpoint.operationId,
      code: String(status),
    });
  };
  const act = options.auditor.act(endpoint, state, { params, query: request.query as Query });
  let giveBack = (): void => undefined;
  try {
    const isGuest = admitGuest(endpoint, state, request.query as Query);
    giveBack = options.budget.take(endpoint, request);
    await act?.begin();
    const onAnswered = (callback: () => void): void => whenClosed(response, callback);
    const concerns: Call<AnyEndpoint>['concerns'] = (object) => act?.concerns(object);
    const hasDone: Call<AnyEndpoint>['hasDone'] = async (objects, actor) => act?.hasDone(objects, actor);
    const principalNow = (): Principal | undefined => options.authenticate(request, state.connection, 'check');
    const requireRight = (): Principal | undefined => {
      const principal = principalNow();
      if (!isGuest) requirePermission(endpoint, { ...state, principal }, request.query as Query);
      return principal;
    };
    const known = { ...state, params, onAnswered, concerns, hasDone, principalNow, requireRight };
    const call = await gather(endpoint, request, options.clock, known);
    act?.reads(call.body);
    const handled = await route.handle(call);
    await act?.done(handled.objects ?? [], handled.actor);
    const reply = asAdmitted(handled, isGuest);
    const status = reply.status ?? endpoint.status;
    observe(status);
    if (reply.events === undefined) await send(endpoint, { ...reply, status }, response);
    else sendEvents(endpoint, reply.events, options, response);
  } catch (error) {
    const { code } = toDomainError(error);
    act?.failed(code);
    if (!response.headersSent) observe(ERROR_ANSWERS[code].status);
    throw error;
  } finally {
    giveBack();
  }
}

function whenClosed(response: ServerResponse, callback: () => void): void {
  if (response.closed) callback();
  else response.once('close', callback);
}

/**
 * Whether the caller gets a page on which to give credentials. A bad key does not: it is answered as everywhere, and
 * counted (M10).
 * @throws DomainError for any other caller without the permission.
 */
function admitGuest(endpoint: AnyEndpoint, state: RequestState, query: Query): boolean {
  if (endpoint.takesCredentials === true && state.principal === undefined && state.shownKey === undefined) return true;
  requirePermission(endpoint, state, query);
  return false;
}

function asAdmitted(reply: Reply<unknown>, isGuest: boolean): Reply<unknown> {
  if (!isGuest) return reply;
  return { ...reply, status: ERROR_ANSWERS.unauthorized.status, headers: { ...reply.headers, ...CHALLENGE } };
}

/**
 * Unauthenticated callers learn nothing about which paths exist. A page of another origin can make a browser send its
 * cookie, so what changes something by a cookie must come from a page of this one (M4).
 */
function requirePermission(endpoint: AnyEndpoint, { principal, connection }: RequestState, query: Query): void {
  const permission = permissionOf(endpoint, query);
  if (!mayUse(permission, principal)) throw refusal(permission, principal);
  if (endpoint.method === 'get') return;
  // Whoever has no cookie yet could be signed in as somebody else by such a page.
  if (connection.origin === 'other' && principal?.type !== 'key' && endpoint.isForBrowsers) throw crossOrigin();
  if (connection.origin !== 'same' && principal?.type === 'user') throw crossOrigin();
}

/** Reading values takes more than reading. */
function permissionOf({ permission, audit }: AnyEndpoint, query: Query): Permission {
  return audit?.flag !== undefined && isSet(query[audit.flag]) ? 'edit' : permission;
}

function refusal(permission: Permission, principal: Principal | undefined): DomainError {
  if (principal === undefined || permission === 'session') return unauthorized(principal);
  const who = permission === 'administer' ? 'administrators' : 'users with the role editor or admin';
  return new DomainError('forbidden', `Only ${who} and management keys may do this.`);
}

function crossOrigin(): DomainError {
  return new DomainError(
    'forbidden',
    'A change by a session must come from a page of this origin: send Sec-Fetch-Site or Origin, as browsers do, or use a key.',
  );
}

type Known = RequestState &
  Pick<Call<AnyEndpoint>, 'params' | 'onAnswered' | 'concerns' | 'hasDone' | 'principalNow' | 'requireRight'>;

async function gather(
  endpoint: AnyEndpoint,
  request: ExpressRequest,
  clock: Pick<Clock, 'after'>,
  known: Known,
): Promise<Call<AnyEndpoint>> {
  const query = validateQuery(endpoint, request.query);
  const body = await readBody(endpoint, request, clock);
  // The body may have taken its time.
  const principal = endpoint.method === 'get' ? known.principal : known.requireRight();
  return { ...known, principal, query, body, request };
}

function validateQuery(endpoint: AnyEndpoint, given: unknown): unknown {
  // Without its null prototype, so that zod takes it.
  const query: Query = { ...(given as Query) };
  return validate((endpoint.query ?? NO_QUERY) as z.ZodType, query, 'query');
}

async function readBody(
  endpoint: AnyEndpoint,
  request: IncomingMessage,
  clock: Pick<Clock, 'after'>,
): Promise<unknown> {
  if (endpoint.body === undefined) {
    requireJsonType(request);
    return undefined;
  }
  if (endpoint.body.kind === 'stream') {
    refuseEncoding(request);
    return undefined;
  }
  const value = await inTime(readJson(request, { isOptional: endpoint.body.isOptional }), clock);
  const readOnly: readonly string[] = endpoint.body.readOnly ?? [];
  return validate(endpoint.body.schema as z.ZodType, without(value, readOnly), 'body');
}

/** A small body has no reason to be slow, and while it arrives it uses part of the budget (M10). */
async function inTime<T>(reading: Promise<T>, clock: Pick<Clock, 'after'>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const tooSlow = new DomainError(
    'request_timeout',
    `The JSON body did not arrive within ${MANAGER_LIMITS.jsonMs / 1000} s.`,
  );
  const cancel = clock.after(MANAGER_LIMITS.jsonMs, () => late.reject(tooSlow));
  try {
    return await Promise.race([reading, late.promise]);
  } finally {
    cancel();
  }
}

function without(value: unknown, fields: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !fields.includes(name)));
}

/**
 * The path's parameters. `{*path}` is cut from the raw target and decoded once, as a whole: `%2F` and plain segments
 * are the same, and nothing that express does to its own parameters matters.
 * @throws URIError for a bad escape.
 */
function paramsOf(endpoint: AnyEndpoint, request: ExpressRequest): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.params)) if (typeof value === 'string') params[name] = value;
  const rest = /\{\*(\w+)\}$/.exec(endpoint.path);
  if (rest?.[1] !== undefined) {
    const target = (request as { originalUrl?: string }).originalUrl ?? request.url ?? '';
    const depth = endpoint.path.split('/').length - 1;
    params[rest[1]] = decodeURIComponent(target.replace(/\?.*$/s, '').split('/').slice(depth).join('/'));
  }
  return params;
}

/** Answers are validated as well: a field that the contract does not name never leaves the service. */
async function send(
  endpoint: AnyEndpoint,
  reply: Reply<unknown> & { status: number },
  response: ServerResponse,
): Promise<void> {
  const headers = reply.headers ?? {};
  if (reply.bytes !== undefined) return sendBytes(response, reply.status, reply.bytes, headers);
  if (reply.json === undefined) return sendEmpty(response, reply.status, headers);
  const schema = endpoint.reply.json as z.ZodType | undefined;
  if (schema === undefined) throw new Error(`${endpoint.operationId} declares no JSON answer`);
  return sendJson(response, reply.status, schema.parse(reply.json), headers);
}

/** @throws DomainError where no more streams may be opened. */
function sendEvents(
  endpoint: AnyEndpoint,
  begin: NonNullable<Reply<unknown>['events']>,
  { streams, authenticate, stateOf }: Pick<MountOptions, 'streams' | 'authenticate' | 'stateOf'>,
  response: ServerResponse,
): void {
  const { data, limit } = endpoint.reply.events ?? {};
  if (data === undefined) throw new Error(`${endpoint.operationId} declares no events`);
  const { req: request } = response;
  if (request.method === 'HEAD') return sendEmpty(response, endpoint.status, { 'Content-Type': EVENT_STREAM });
  const { connection, principal } = stateOf(request);
  const user = principal?.type === 'user' ? principal.id : undefined;
  const isAllowed = (): boolean => mayUse(endpoint.permission, authenticate(request, connection, 'check'));
  begin(streams.open(response, { data, isAllowed, operation: endpoint.operationId, limit, user }));
}
