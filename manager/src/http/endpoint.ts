import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { ErrorCode } from '@wherry/core/errors.ts';
import type { Permission, Principal } from './principal.ts';

type QuerySchema = z.ZodObject;
type JsonSchema = z.ZodType;

/** What an endpoint takes as body. A `stream` is read by its handler: it may be larger than memory should hold. */
export type RequestBody<B extends JsonSchema> =
  | {
      kind: 'json';
      schema: B;
      /** Fields that answers hold and requests cannot set: ignored, so that what was read can be sent back. */
      readOnly?: readonly string[];
    }
  | { kind: 'stream'; types: readonly string[]; description: string };

/** The body of a good answer. `bytes` beside a schema: negotiated by `Accept`. */
export interface ReplyBody<R extends JsonSchema> {
  json?: R;
  bytes?: { type: string; description: string };
}

/**
 * The one declaration of an endpoint: the express route and the OpenAPI document are both made from it, so that they
 * cannot drift apart. An endpoint without a permission does not type-check, and is not mounted.
 */
export interface Endpoint<
  P extends string = string,
  Q extends QuerySchema = QuerySchema,
  B extends JsonSchema = JsonSchema,
  R extends JsonSchema = JsonSchema,
> {
  /** Unique; also the action in audit records. */
  operationId: string;
  method: 'get' | 'post' | 'put' | 'delete';
  /** As express writes it; `{*path}` is the raw rest of the target, decoded once. */
  path: P;
  tag: string;
  summary: string;
  permission: Permission;
  query?: Q;
  body?: RequestBody<B>;
  status: 200 | 201 | 204;
  /** A second good status: a PUT that creates or replaces. */
  otherStatus?: 200 | 201 | 304;
  reply: ReplyBody<R>;
  /** Beside those that every endpoint may answer. */
  errors: readonly ErrorCode[];
}

type ParamNames<P extends string> = P extends `${infer Head}/${infer Tail}`
  ? ParamNames<Head> | ParamNames<Tail>
  : P extends `:${infer Name}` | `{*${infer Name}}`
    ? Name
    : never;

/** A request that has passed authentication and validation. */
export interface Call<E extends AnyEndpoint> {
  params: Record<ParamNames<E['path']>, string>;
  query: E extends Endpoint<string, infer Q> ? z.output<Q> : never;
  body: E extends Endpoint<string, QuerySchema, infer B> ? z.output<B> : never;
  /** For streamed bodies and conditional requests. */
  request: IncomingMessage;
  /** Undefined on public endpoints without credentials. */
  principal: Principal | undefined;
  requestId: string;
}

/** A good answer. `status` where it is not the endpoint's own. */
export interface Reply<T> {
  status?: number;
  headers?: Record<string, string>;
  json?: T;
  bytes?: Readable;
}

type ReplyOf<E extends AnyEndpoint> = E extends Endpoint<string, QuerySchema, JsonSchema, infer R> ? Reply<z.input<R>> : never;
export type Handler<E extends AnyEndpoint> = (call: Call<E>) => Promise<ReplyOf<E>>;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the bound of the generics above
export type AnyEndpoint = Endpoint<string, any, any, any>;

/** An endpoint and what answers it. */
export interface Route {
  endpoint: AnyEndpoint;
  handle: (call: Call<AnyEndpoint>) => Promise<Reply<unknown>>;
}

/** Keeps the literal types of a declaration. */
export function endpoint<
  const P extends `/api/${string}`,
  Q extends QuerySchema = z.ZodObject<Record<never, never>>,
  B extends JsonSchema = z.ZodUndefined,
  R extends JsonSchema = z.ZodUndefined,
>(declaration: Endpoint<P, Q, B, R>): Endpoint<P, Q, B, R> {
  return declaration;
}

/** Binds each declared endpoint of a resource to its handler; one without does not type-check. */
export function routes<T extends Record<string, AnyEndpoint>>(endpoints: T, handlers: { [K in keyof T]: Handler<T[K]> }): Route[] {
  return Object.entries(endpoints).map(([name, declared]) => ({
    endpoint: declared,
    handle: handlers[name] as unknown as Route['handle'],
  }));
}
