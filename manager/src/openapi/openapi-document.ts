import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '@wherry/core/errors.ts';
import { nameSchema } from '@wherry/core/resources/meta.ts';
import type { AnyEndpoint } from '../http/endpoint.ts';
import { ERROR_ANSWERS } from '../http/error-mapper.ts';
import { ALL_ENDPOINTS } from './all-endpoints.ts';
import { BODY_EXAMPLES } from './body-examples.ts';
import { FILE_PATH } from '../http/patterns.ts';
import { linksOf } from './links.ts';
import { JsonSchemas, type Json } from './json-schemas.ts';

/** What any endpoint may answer, whatever it declares. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  'validation_failed',
  'unauthorized',
  'throttled',
  'internal_error',
  'unavailable',
];
const BODY_ERRORS: readonly ErrorCode[] = ['too_large', 'unsupported_media_type'];
/** Whoever may only read changes nothing and reads no values, nor does a session in a page of another origin. */
const REFUSALS: readonly ErrorCode[] = ['forbidden'];
/** Uploads have no time limit. */
const JSON_ERRORS: readonly ErrorCode[] = ['request_timeout'];

const errorSchema = z.strictObject({
  error: z.string().describe('A sentence for a person'),
  code: z.enum(ERROR_CODES).describe('A constant for a program'),
  requestId: z.string().describe('As in X-Request-Id'),
  details: z
    .array(z.strictObject({ path: z.string(), message: z.string() }))
    .optional()
    .describe('Each offending field'),
});

/** The OpenAPI 3.1 document, made of the very schemas that validate requests and answers. */
export function openapiDocument(): Json & { openapi: string; info: Json } {
  const schemas = new JsonSchemas();
  const paths: Record<string, Json> = {};
  for (const endpoint of ALL_ENDPOINTS) {
    const path = openapiPath(endpoint.path);
    paths[path] = { ...paths[path], [endpoint.method]: operation(endpoint, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Wherry management API',
      version: '1',
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
      description:
        'Functions, their code, keys, secrets, logs and settings. Ids are opaque; times are ISO 8601 in UTC with milliseconds.',
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-wherry_session',
          description:
            'Set by signing in; over plain HTTP on loopback without the prefix. Changes need Sec-Fetch-Site or Origin.',
        },
      },
      responses: Object.fromEntries(usedErrors().map((code) => [code, errorAnswer(code)])),
      schemas: { ...schemas.components, Error: schemas.of(errorSchema, 'output') },
    },
  };
}

function openapiPath(path: string): string {
  return path.replace(/\{\*(\w+)\}/g, '{$1}').replace(/:(\w+)/g, '{$1}');
}

function operation(endpoint: AnyEndpoint, schemas: JsonSchemas): Json {
  const { operationId, tag, summary, permission } = endpoint;
  return {
    operationId,
    tags: [tag],
    summary,
    ...securityOf(permission),
    parameters: [
      ...pathParameters(endpoint, schemas),
      ...queryParameters(endpoint, schemas),
      ...(endpoint.reply.events === undefined ? [] : [LAST_EVENT_ID]),
      ...headerParameters(endpoint),
    ],
    ...(endpoint.body === undefined ? {} : { requestBody: requestBody(endpoint.body, operationId, schemas) }),
    responses: { ...goodAnswers(endpoint, schemas), ...errorAnswers(endpoint) },
  };
}

/** Where it is not that of the document. */
function securityOf(permission: AnyEndpoint['permission']): Json {
  if (permission === 'public') return { security: [] };
  return permission === 'session' ? { security: [{ session: [] }] } : {};
}

function pathParameters(endpoint: AnyEndpoint, schemas: JsonSchemas): Json[] {
  return Array.from(endpoint.path.matchAll(/:(\w+)|\{\*(\w+)\}/g), ([, name, rest]) => ({
    name: name ?? rest,
    in: 'path',
    required: true,
    schema:
      rest === undefined ? parameterSchema(name ?? '', schemas) : { type: 'string', maxLength: 1024, ...FILE_PATH },
    ...(rest === undefined
      ? {}
      : { description: 'Path in the source, URL-encoded; %2F and plain slashes are equivalent' }),
  }));
}

/** A browser's EventSource sends it by itself when it connects again. */
const LAST_EVENT_ID: Json = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The id of the last event that was received: the stream goes on after it',
  schema: { type: 'string' },
};

/** Another text is no id of anything: 404. */
function parameterSchema(name: string, schemas: JsonSchemas): Json {
  return name === 'id' || name.endsWith('Id') ? schemas.of(nameSchema, 'input') : { type: 'string', minLength: 1 };
}

function queryParameters(endpoint: AnyEndpoint, schemas: JsonSchemas): Json[] {
  if (endpoint.query === undefined) return [];
  const schema = schemas.of(endpoint.query as z.ZodType, 'input');
  const required = (schema.required ?? []) as string[];
  return Object.entries((schema.properties ?? {}) as Record<string, Json>).map(
    ([name, { description, ...property }]) => ({
      name,
      in: 'query',
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: property,
    }),
  );
}

function headerParameters({ headers = {} }: AnyEndpoint): Json[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
}

function requestBody(body: NonNullable<AnyEndpoint['body']>, operationId: string, schemas: JsonSchemas): Json {
  if (body.kind === 'stream') {
    return {
      required: body.isOptional !== true,
      description: body.description,
      content: Object.fromEntries(
        Object.entries(body.types).map(([type, schema]) => [type, { schema: schemas.of(schema, 'input') }]),
      ),
    };
  }
  return {
    required: body.isOptional !== true,
    content: {
      'application/json': {
        schema: schemas.ofBody(body.schema as z.ZodType, body.readOnly ?? []),
        example: BODY_EXAMPLES[operationId],
      },
    },
  };
}

function otherAnswer({ otherStatus }: AnyEndpoint, good: Json): Json {
  if (otherStatus === undefined) return {};
  if (otherStatus === 304) return { 304: { description: 'Not changed since If-None-Match' } };
  return { [otherStatus]: otherStatus === 202 ? { ...good, description: 'Begun' } : good };
}

function goodAnswers(endpoint: AnyEndpoint, schemas: JsonSchemas): Json {
  const { json, bytes, events } = endpoint.reply as {
    json?: z.ZodType;
    bytes?: { type: string; description: string };
    events?: { data: z.ZodType; description: string };
  };
  const content = {
    ...(json === undefined ? {} : { 'application/json': { schema: schemas.of(json, 'output') } }),
    ...(bytes === undefined ? {} : bytesContent(bytes)),
    ...(events === undefined ? {} : { 'text/event-stream': eventsOf(events, schemas) }),
  };
  const links = endpoint.status === 201 && json !== undefined ? linksOf(endpoint, json, ALL_ENDPOINTS) : undefined;
  const good = {
    description: 'Done',
    ...(Object.keys(content).length === 0 ? {} : { content }),
    ...(links === undefined ? {} : { links }),
  };
  return { [endpoint.status]: good, ...otherAnswer(endpoint, good) };
}

/** The media type is text; the schema of an event's data stands beside it, as OpenAPI 3.2 does. */
function eventsOf({ data, description }: { data: z.ZodType; description: string }, schemas: JsonSchemas): Json {
  return {
    schema: {
      type: 'string',
      description,
      contentMediaType: 'text/event-stream',
      contentSchema: schemas.of(data, 'output'),
    },
  };
}

/** In the order in which errors are declared. */
function usedErrors(): ErrorCode[] {
  const used = new Set(ALL_ENDPOINTS.flatMap(errorsOf));
  return ERROR_CODES.filter((code) => used.has(code));
}

function errorsOf(endpoint: AnyEndpoint): ErrorCode[] {
  return [
    ...COMMON_ERRORS,
    ...(endpoint.method === 'get' && endpoint.audit?.flag === undefined ? [] : REFUSALS),
    ...(endpoint.body === undefined ? [] : BODY_ERRORS),
    ...(endpoint.body?.kind === 'json' ? JSON_ERRORS : []),
    ...endpoint.errors,
  ];
}

function errorAnswers(endpoint: AnyEndpoint): Json {
  const codes = new Set(errorsOf(endpoint));
  const references = ERROR_CODES.filter((code) => codes.has(code)).map((code) => [
    ERROR_ANSWERS[code].status,
    { $ref: `#/components/responses/${code}` },
  ]);
  return { ...(Object.fromEntries(references) as Json), ...guestAnswer(endpoint) };
}

/** A page that takes credentials is an answer to callers without any, too. */
function guestAnswer({ takesCredentials, reply }: AnyEndpoint): Json {
  if (takesCredentials !== true || reply.bytes === undefined) return {};
  const answer = errorAnswer('unauthorized');
  const content = { ...(answer.content as Json), ...bytesContent(reply.bytes) };
  return { [ERROR_ANSWERS.unauthorized.status]: { ...answer, content } };
}

function bytesContent({ type, description }: NonNullable<AnyEndpoint['reply']['bytes']>): Json {
  return { [type]: { schema: { description } } };
}

function errorAnswer(code: ErrorCode): Json {
  const { title, retryAfter } = ERROR_ANSWERS[code];
  const headers =
    retryAfter === undefined
      ? {}
      : { headers: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds' } } };
  return {
    description: title,
    ...headers,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}
