import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { Connection, type SentRequest } from './connection.ts';
import { readLines } from './read-lines.ts';
import { describePath, statusError, unavailable, type Status } from './status-error.ts';

const REQUEST_LIMIT_MS = 10_000;
/** How much later than requested a watch may end by itself. */
const WATCH_GRACE_MS = 5000;

export type Query = Record<string, string | number | boolean | undefined>;

export interface KubeRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Without the query; names in it escaped: `/api/v1/namespaces/x/pods`. */
  path: string;
  query?: Query;
  body?: object;
  /** `application/json` by default; a PATCH needs its own. */
  contentType?: string;
  /** Ends the request, which then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** 10 s by default, from the call to the last byte of the answer. */
  timeoutMs?: number;
}

export interface KubeWatch {
  path: string;
  query?: Query;
  signal: AbortSignal;
  /** When the server should end the stream; 5 s later it is cut. */
  timeoutSeconds: number;
}

/** One event of a watch, as it came. */
export interface RawEvent {
  type: string;
  object: object;
}

/**
 * kube-apiserver. Every call ends in bounded time; every failure is a DomainError that contains no header and no part
 * of a body: `not_found`, `conflict` (AlreadyExists, a stale resourceVersion; `Expired:` for 410), `validation_failed`
 * naming the field, `forbidden` naming verb and resource, `too_large`, `unavailable` (not reached, overloaded, its kind
 * unknown there), `internal_error` (a request that we should not send). Unknown fields in a write are refused.
 */
export interface KubeClient {
  request<T>(request: KubeRequest): Promise<T>;
  /** The events of one watch request; ends when the server ends it, or without an error when the signal aborts. */
  watch(watch: KubeWatch): AsyncIterable<RawEvent>;
  /** Ends all connections. */
  close(): Promise<void>;
}

interface KubeClientOptions {
  /** Path of a kubeconfig; by default, this pod's service account. */
  kubeconfig?: string | undefined;
  clock: Clock;
}

/** A client of the cluster of the kubeconfig, or of this pod. It sends nothing yet. @throws StartError */
export async function connectKube({ kubeconfig, clock }: KubeClientOptions): Promise<KubeClient> {
  return new HttpKubeClient(new Connection(kubeconfig, clock), clock);
}

class HttpKubeClient implements KubeClient {
  readonly #connection: Connection;
  readonly #clock: Clock;

  constructor(connection: Connection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  async request<T>(request: KubeRequest): Promise<T> {
    const limit = request.timeoutMs ?? REQUEST_LIMIT_MS;
    const late = () =>
      unavailable(`The API server did not answer in ${limit / 1000} s for ${describePath(request.path)}`);
    return this.#bounded({ limit, late, signal: request.signal }, async (signal) => {
      const response = await this.#connection.send({ ...sent(request), signal });
      const text = await response.body.text();
      if (response.statusCode >= 300) throw statusError(response.statusCode, parseStatus(text), request);
      return parseBody(text) as T;
    });
  }

  async *watch({ path, query, signal, timeoutSeconds }: KubeWatch): AsyncGenerator<RawEvent, void> {
    if (signal.aborted) return;
    const cut = new AbortController();
    const stop = () => cut.abort(signal.reason);
    signal.addEventListener('abort', stop);
    const late = () => unavailable(`The watch of ${describePath(path)} did not end in time; closing it`);
    const cancel = this.#clock.after(timeoutSeconds * 1000 + WATCH_GRACE_MS, () => cut.abort(late()));
    const request = { method: 'GET' as const, path, query: { ...query, watch: true, timeoutSeconds } };
    try {
      const response = await this.#connection.send({ ...sent(request), signal: cut.signal });
      if (response.statusCode >= 300)
        throw statusError(response.statusCode, parseStatus(await response.body.text()), request);
      for await (const line of readLines(response.body as AsyncIterable<Buffer>)) {
        if (cut.signal.aborted) break;
        yield eventOf(line, request);
      }
      if (cut.signal.aborted && !signal.aborted) throw cut.signal.reason;
    } catch (error) {
      if (!signal.aborted) throw translate(error, cut.signal);
    } finally {
      cancel();
      signal.removeEventListener('abort', stop);
      // If the caller leaves the loop, the stream would keep running.
      cut.abort();
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #bounded<T>(
    { limit, late, signal }: { limit: number; late: () => Error; signal: AbortSignal | undefined },
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const cut = new AbortController();
    const stop = () => cut.abort(signal?.reason);
    signal?.addEventListener('abort', stop);
    const cancel = this.#clock.after(limit, () => cut.abort(late()));
    try {
      return await work(cut.signal);
    } catch (error) {
      throw translate(error, cut.signal);
    } finally {
      cancel();
      signal?.removeEventListener('abort', stop);
    }
  }
}

function sent(request: KubeRequest): Omit<SentRequest, 'signal'> {
  const { method, path, body } = request;
  const writes = body !== undefined && method !== 'DELETE';
  const headers: Record<string, string> = { accept: 'application/json', 'user-agent': 'wherry/0.1.0' };
  if (body !== undefined) headers['content-type'] = request.contentType ?? 'application/json';
  const query = queryText({ ...(writes && { fieldValidation: 'Strict' }), ...request.query });
  return { method, path: path + query, headers, body: body && JSON.stringify(body) };
}

function queryText(query: Query): string {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) text.set(name, String(value));
  return text.size === 0 ? '' : `?${text.toString()}`;
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unavailable('The API server sent an answer that is not JSON');
  }
}

/** The Status of a failure; a proxy in front of the server may answer anything. */
function parseStatus(text: string): Status {
  try {
    const status: unknown = JSON.parse(text);
    return typeof status === 'object' && status !== null ? status : {};
  } catch {
    return {};
  }
}

function eventOf(line: object, request: KubeRequest): RawEvent {
  const { type, object } = line as Partial<RawEvent>;
  if (typeof type !== 'string' || typeof object !== 'object' || object === null) {
    throw unavailable('The API server sent something that is not an event');
  }
  if (type !== 'ERROR') return { type, object };
  const status = object as Status;
  throw statusError(status.code ?? 500, status, request);
}

/** Why the exchange failed: the limit, the caller, or the network, named only by its code. */
function translate(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (isDomainError(error)) return error;
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  const known = [code, cause?.code].find((value) => typeof value === 'string');
  return unavailable(`The API server cannot be reached${known === undefined ? '' : ` (${known})`}`);
}
