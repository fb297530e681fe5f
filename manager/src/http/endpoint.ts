import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { ErrorCode } from '@wherry/core/errors.ts';
import type { AuditActor, AuditObject } from '../audit/audit-record.ts';
import type { Connection } from './connection.ts';
import type { EventStream } from './event-stream.ts';
import type { Permission, Principal } from './principal.ts';
import type { Headers } from './reply.ts';

type QuerySchema = z.ZodObject;
type JsonSchema = z.ZodType;

/** The body that an endpoint accepts. A `stream` is read by its handler: it may be larger than memory should hold. */
type RequestBody<B extends JsonSchema> =
  | {
      kind: 'json';
      schema: B;
      /** A request without a body counts as one with `{}`. */
      isOptional?: boolean;
      /** Fields that answers hold and requests cannot set: ignored, so that what was read can be sent back. */
      readOnly?: readonly string[];
    }
  | {
      kind: 'stream';
      /** For the document: a request may have no body. */
      isOptional?: boolean;
      /** By content type, for the document: what the body holds. */
      types: Readonly<Record<string, z.ZodType>>;
      description: string;
    };

/** The body of a good answer. `bytes` beside a schema: negotiated by `Accept`. */
interface ReplyBody<R extends JsonSchema> {
  json?: R;
  /** Server-sent events, each with data of this schema; a client resumes by `Last-Event-ID`. */
  events?: {
    data: z.ZodType;
    description: string;
    /** How many may be open at once, where that is not the usual number. */
    limit?: number;
  };
  bytes?: { type: string; description: string };
}

type Method = 'get' | 'post' | 'put' | 'delete';

/** How a request appears in the audit records (M9). */
export interface Audit {
  /** The kind and the verb. */
  action: `${string}.${string}`;
  kind: string;
  /**
   * The parameters of the path that hold the object's id and its name; where there is none, only the handler knows.
   */
  id?: string;
  name?: string;
  /** The field of the body that has the name of what is created; `name` where this is left out. */
  nameField?: string;
  /** Of a read: the flag of the query with which plaintext values are read. Without it there is no record. */
  flag?: string;
}

/** Every change is audited; a read is audited where it returns plaintext values. */
type Audited<M extends Method> = M extends 'get' ? { audit?: Audit } : { audit: Audit };

/**
 * The one declaration of an endpoint: the express route and the OpenAPI document are both made from it, so that they
 * cannot drift apart. An endpoint without a permission, or one that changes something without an audit action, fails
 * the type check and is not mounted.
 */
type Endpoint<
  P extends string = string,
  Q extends QuerySchema = QuerySchema,
  B extends JsonSchema = JsonSchema,
  R extends JsonSchema = JsonSchema,
  M extends Method = Method,
> = Audited<M> & {
  /** Unique. */
  operationId: string;
  method: M;
  /** As express writes it; `{*path}` is the raw rest of the target, decoded once. */
  path: P;
  tag: string;
  summary: string;
  permission: Permission;
  /** A browser uses it before it has a session: no page of another origin may (M4). */
  isForBrowsers?: boolean;
  /**
   * A page without data, on which a caller gives credentials: whoever sends none gets it too, with 401, since a browser
   * cannot send a key when it opens a page.
   */
  takesCredentials?: boolean;
  query?: Q;
  /** Request headers that it reads, with what they do. */
  headers?: Readonly<Record<string, string>>;
  body?: RequestBody<B>;
  status: 200 | 201 | 204 | 302;
  /** A second good status: a PUT that creates or replaces, a POST that need not wait. */
  otherStatus?: 200 | 201 | 202 | 304;
  reply: ReplyBody<R>;
  /** The path of the collection of what it makes, where that is not its own: for the links of the document. */
  makesIn?: string;
  /** Beside those that every endpoint may answer. */
  errors: readonly ErrorCode[];
};

type ParamNames<P extends string> = P extends `${infer Head}/${infer Tail}`
  ? ParamNames<Head> | ParamNames<Tail>
  : P extends `:${infer Name}` | `{*${infer Name}}`
    ? Name
    : never;

/** A request that has passed authentication and validation. */
export interface Call<E extends AnyEndpoint> {
  params: Record<ParamNames<E['path']>, string>;
  query: E extends { query?: infer Q extends QuerySchema } ? z.output<Q> : never;
  body: E extends { body?: RequestBody<infer B> } ? z.output<B> : never;
  /** For streamed bodies and conditional requests. */
  request: IncomingMessage;
  /** What the request acts on, once that is known, for the record of a request that then fails (M9). */
  concerns: (object: Partial<AuditObject>) => void;
  /**
   * Records what the request has already changed, where it may still fail (M9).
   * @throws DomainError `unavailable`; the record is not lost then.
   */
  hasDone: (objects: readonly ActedOn[], actor?: AuditActor) => Promise<void>;
  /** Calls back once the answer is sent, or the caller has disconnected. */
  onAnswered: (callback: () => void) => void;
  /** Undefined on public endpoints without credentials. */
  principal: Principal | undefined;
  /** Whom the credentials identify now: a request may outlive its caller's session, role or key. */
  principalNow: () => Principal | undefined;
  /**
   * Refuses a caller who has lost the right to the endpoint meanwhile: call it once a streamed body has arrived.
   * @returns the caller, as `principalNow`.
   * @throws DomainError `unauthorized`, `forbidden`.
   */
  requireRight: () => Principal | undefined;
  requestId: string;
  clientAddress: string | null;
  connection: Connection;
}

/** A good answer. `status` where it is not the endpoint's own. */
export interface Reply<T> {
  status?: number;
  headers?: Headers;
  json?: T;
  bytes?: Readable;
  /** Sends events until `stream.closed`. */
  events?: (stream: EventStream) => void;
  /** What was changed, or whose values are in the answer: a record each (M9). */
  objects?: readonly ActedOn[];
  /** Who did it, where the request itself established that: by signing in. */
  actor?: AuditActor;
}

/** An object of an audit record, and what was done to it; what is left out is as declared. */
export type ActedOn = Pick<AuditObject, 'id'> & Partial<AuditObject> & { action?: Audit['action'] };

/** Whoever changes something says what. */
type WithObjects<E extends AnyEndpoint, T> = E['method'] extends 'get'
  ? Reply<T>
  : Reply<T> & { objects: readonly ActedOn[] };
type ReplyOf<E extends AnyEndpoint> = E extends { reply: ReplyBody<infer R> } ? WithObjects<E, z.input<R>> : never;
type Handler<E extends AnyEndpoint> = (call: Call<E>) => Promise<ReplyOf<E>>;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the bound of the generics above
export type AnyEndpoint = Endpoint<string, any, any, any>;

/** An endpoint and what answers it. */
export interface Route {
  endpoint: AnyEndpoint;
  handle: (call: Call<AnyEndpoint>) => Promise<Reply<unknown>>;
  /** Whether the path exists at the moment; else it is a 404, whatever the request. */
  exists?: () => boolean;
}

/** Keeps the literal types of a declaration. */
export function endpoint<
  const P extends `/api/${string}` | `/web/${string}`,
  Q extends QuerySchema = z.ZodObject<Record<never, never>>,
  B extends JsonSchema = z.ZodUndefined,
  R extends JsonSchema = z.ZodUndefined,
  const M extends Method = Method,
>(declaration: Endpoint<P, Q, B, R, M>): Endpoint<P, Q, B, R, M> {
  return declaration;
}

/** Binds each declared endpoint of a resource to its handler; one without does not type-check. */
export function routes<T extends Record<string, AnyEndpoint>>(
  endpoints: T,
  handlers: { [K in keyof T]: Handler<T[K]> },
): Route[] {
  return Object.entries(endpoints).map(([name, declared]) => ({
    endpoint: declared,
    handle: handlers[name] as unknown as Route['handle'],
  }));
}
