import type { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { DomainError, type ErrorCode } from '@wherry/core/errors.ts';
import type { TlsFiles } from '@wherry/service/tls/tls-files.ts';
import { Agent, request, type Dispatcher } from 'undici';

/**
 * A client's certificate and the authorities that it trusts; read for each request, so that a rotation needs no
 * restart.
 */
export type ClientTls = Pick<TlsFiles, 'current'>;

interface InternalClientOptions {
  /** Base of the manager's internal listener: `https://wherry-manager.wherry-system.svc:9444`. */
  url: string;
  tls: ClientTls;
}

interface InternalRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT';
  /** From the root, encoded. */
  path: string;
  headers?: Record<string, string>;
  body?: Buffer | string | Readable;
  /** How long the answer may take to begin once the request is sent; 30 s by default. */
  timeoutMs?: number;
}

export type InternalAnswer = Dispatcher.ResponseData;

/** Requests to the manager's internal listener. */
export interface InternalClient {
  /**
   * Resolves with an answer of 2xx, whose body is the caller's to read.
   * @throws DomainError as the manager says; `unavailable` when it cannot be reached or does not answer.
   */
  send(request: InternalRequest): Promise<InternalAnswer>;
  /** Lets running requests finish, then closes every connection. */
  stop(): Promise<void>;
}

const CONNECT_MS = 3000;
const ANSWER_MS = 30_000;
/** The longest silence within an answer. */
const SILENCE_MS = 30_000;
const MAX_CONNECTIONS = 32;
/** Of an error's body; ours are a few hundred bytes. */
const MAX_ERROR_BYTES = 16 * 1024;
const SAID: ReadonlySet<string> = new Set<ErrorCode>([
  'not_found',
  'too_large',
  'validation_failed',
  'conflict',
  'unavailable',
  'internal_error',
]);

export function createInternalClient({ url, tls }: InternalClientOptions): InternalClient {
  const origin = new URL(url).origin;
  const closing = new Set<Promise<void>>();
  let made: { agent: Agent; material: ReturnType<ClientTls['current']> } | undefined;

  function close(agent: Agent): void {
    const closed = agent
      .close()
      .catch(() => undefined)
      .finally(() => closing.delete(closed));
    closing.add(closed);
  }

  /**
   * Connections are made with one certificate: a new one gets connections of its own, and the old ones end with their
   * requests.
   */
  function agent(): Agent {
    const material = tls.current();
    if (made !== undefined && isDeepStrictEqual(made.material, material)) return made.agent;
    if (made !== undefined) close(made.agent);
    const connect = { ...material, minVersion: 'TLSv1.3' as const, timeout: CONNECT_MS };
    made = {
      material,
      agent: new Agent({ connect, connections: MAX_CONNECTIONS, bodyTimeout: SILENCE_MS, keepAliveTimeout: 4000 }),
    };
    return made.agent;
  }

  async function once({
    path,
    timeoutMs = ANSWER_MS,
    method,
    headers = {},
    body,
  }: InternalRequest): Promise<InternalAnswer> {
    return request(`${origin}${path}`, {
      method,
      headers,
      body: body ?? null,
      headersTimeout: timeoutMs,
      dispatcher: agent(),
    });
  }

  return {
    async send(options) {
      let answer: InternalAnswer;
      try {
        answer = await once(options).catch((error: unknown) => {
          // The other side closes a connection that was idle just when it is used again; a stream cannot be sent twice.
          if (!wasCut(error) || isStream(options.body)) throw error;
          return once(options);
        });
      } catch (error) {
        throw unreachable(error);
      }
      if (answer.statusCode < 300) return answer;
      throw await refusal(answer);
    },
    async stop() {
      if (made !== undefined) close(made.agent);
      made = undefined;
      await Promise.all(closing);
    },
  };
}

/** The error of a connection to the manager; its text contains no address, because conditions show it. */
export function unreachable(cause: unknown): DomainError {
  const code = (cause as { code?: unknown } | undefined)?.code;
  const error = new DomainError(
    'unavailable',
    `The manager cannot be reached${typeof code === 'string' ? ` (${code})` : ''}.`,
  );
  error.cause = cause;
  return error;
}

async function refusal({ statusCode, body }: InternalAnswer): Promise<DomainError> {
  const said = (await readSome(body)
    .then(JSON.parse)
    .catch(() => undefined)) as { code?: string; error?: string } | undefined;
  if (typeof said?.code === 'string' && typeof said.error === 'string' && SAID.has(said.code))
    return new DomainError(said.code as ErrorCode, said.error);
  // HEAD has no body.
  if (statusCode === 404) return new DomainError('not_found', 'The manager does not have this blob.');
  return new DomainError('unavailable', `The manager refused the request with status ${statusCode}.`);
}

async function readSome(body: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const chunk of body) {
    text += chunk.toString('utf8');
    if (text.length > MAX_ERROR_BYTES) break;
  }
  return text;
}

function isStream(body: InternalRequest['body']): boolean {
  return body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body);
}

function wasCut(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
}
