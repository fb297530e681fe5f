import { fc } from '@wherry/testing/properties.ts';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import type { Json } from '../openapi/json-schemas.ts';
import { arbitraryOf, type SchemaContext } from './arbitrary-of-schema.ts';

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: Json;
}

/** An operation of the OpenAPI document. */
export interface Operation {
  operationId: string;
  parameters: Parameter[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, Json>;
}

/** A request as it is sent. */
export interface WireRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Buffer;
  caller: Caller;
}

type Caller = 'key' | 'session' | 'nobody';

/** A request whose parts can still be changed. */
interface Draft {
  path: Record<string, string>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  type: string | undefined;
  body: unknown;
  caller: Caller;
}

interface RequestsOptions extends SchemaContext {
  method: string;
  template: string;
  operation: Operation;
  /** Of a body, by its content type. */
  validatorOf: (type: string) => ValidateFunction;
}

/** Requests that the document allows, and, as many again, such with a fault. */
export function requestsOf(options: RequestsOptions): fc.Arbitrary<WireRequest> {
  const allowed = draftsOf(options);
  const faulty = fc.tuple(allowed, faultOf(options)).map(([draft, fault]) => fault(draft));
  return fc.oneof(allowed, faulty).map((draft) => wireOf(options, draft));
}

function draftsOf(options: RequestsOptions): fc.Arbitrary<Draft> {
  const { parameters, requestBody } = options.operation;
  const bodies = Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) =>
    fc.record({ type: fc.constant(type), body: bodyOf(type, schema, options) }),
  );
  const none = fc.constant({ type: undefined, body: undefined });
  return fc
    .record({
      path: fc.record(valuesOf(parameters, 'path', options), { noNullPrototype: true }),
      query: fc.record(valuesOf(parameters, 'query', options), {
        requiredKeys: parameters.filter((one) => one.required && one.in === 'query').map(({ name }) => name),
        noNullPrototype: true,
      }),
      headers: fc.record(valuesOf(parameters, 'header', options), { requiredKeys: [], noNullPrototype: true }),
      caller: fc.constantFrom<Caller>('key', 'session'),
      sent: bodies.length === 0 ? none : fc.oneof(...bodies),
    })
    .map(({ query, headers, sent, ...rest }) => ({
      ...rest,
      ...sent,
      query: Object.entries(query),
      headers: headers as Record<string, string>,
    }));
}

function valuesOf(
  parameters: Parameter[],
  where: Parameter['in'],
  options: RequestsOptions,
): Record<string, fc.Arbitrary<string>> {
  const own = parameters.filter((one) => one.in === where);
  // A header's text is printable ASCII.
  const valueOf = ({ name, schema }: Parameter): fc.Arbitrary<string> =>
    where === 'header'
      ? fc.oneof(fc.constantFrom(...(options.known[name] ?? ['x'])), fc.stringMatching(/^[!-~]{1,20}$/))
      : arbitraryOf(schema, options, name).map(String);
  return Object.fromEntries(own.map((one) => [one.name, valueOf(one)]));
}

function bodyOf(type: string, schema: Json, options: RequestsOptions): fc.Arbitrary<unknown> {
  if (type === 'multipart/form-data') return fc.string({ maxLength: 200 }).map(formOf);
  if (type !== 'application/json') return fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
  const isValid = options.validatorOf(type);
  return arbitraryOf(schema, options).filter((body) => isValid(body));
}

const BOUNDARY = 'boundary-of-the-form';

function formOf(content: string): Buffer {
  const head = 'Content-Disposition: form-data; name="file"; filename="made.ts"';
  return Buffer.from(`--${BOUNDARY}\r\n${head}\r\n\r\n${content}\r\n--${BOUNDARY}--\r\n`);
}

type Fault = (draft: Draft) => Draft;

function faultOf({ operation: { parameters, requestBody } }: RequestsOptions): fc.Arbitrary<Fault> {
  const text = fc.string({ maxLength: 40, unit: 'grapheme' });
  const namesIn = (where: Parameter['in']): fc.Arbitrary<string> =>
    fc.constantFrom('unknown', ...parameters.filter((one) => one.in === where).map(({ name }) => name));
  const faults: fc.Arbitrary<Fault>[] = [
    fc.constant((draft) => ({ ...draft, caller: 'nobody' as const })),
    fc.tuple(namesIn('query'), text).map(([name, value]) => (draft) => ({
      ...draft,
      // Where it was sent already, it is there twice.
      query: [...draft.query, [name, value]],
    })),
    fc.tuple(namesIn('path'), text).map(([name, value]) => (draft) => ({
      ...draft,
      path: name in draft.path ? { ...draft.path, [name]: value } : draft.path,
    })),
  ];
  if (requestBody === undefined) return fc.oneof(...faults);
  return fc.oneof(...faults, ...bodyFaults());
}

function bodyFaults(): fc.Arbitrary<Fault>[] {
  const type = fc.constantFrom('application/json', 'text/plain', 'multipart/form-data', 'application/x-tar', undefined);
  const index = fc.nat({ max: 20 });
  return [
    type.map((other) => (draft) => ({ ...draft, type: other })),
    fc.jsonValue().map((body) => (draft) => ({ ...draft, body })),
    fc.string({ maxLength: 20 }).map((body) => (draft) => ({ ...draft, body: Buffer.from(`{"${body}`) })),
    fc.constant((draft) => ({ ...draft, type: undefined, body: undefined })),
    fc.tuple(index, fc.jsonValue()).map(
      ([at, value]) =>
        (draft) =>
          withField(draft, at, () => value),
    ),
    index.map((at) => (draft) => withField(draft, at, () => undefined)),
    fc.jsonValue().map((value) => (draft) => ({ ...draft, body: { ...fieldsOf(draft), unknown: value } })),
  ];
}

function withField(draft: Draft, at: number, change: () => unknown): Draft {
  const fields = fieldsOf(draft);
  const names = Object.keys(fields);
  const name = names[at % Math.max(names.length, 1)];
  return name === undefined ? draft : { ...draft, body: { ...fields, [name]: change() } };
}

function fieldsOf({ body }: Draft): Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Buffer.isBuffer(body) ? (body as Record<string, unknown>) : {};
}

function wireOf({ method, template }: RequestsOptions, draft: Draft): WireRequest {
  const { type, body, caller } = draft;
  const path = template.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(draft.path[name] ?? ''));
  const query = new URLSearchParams(draft.query).toString();
  const contentType = type === 'multipart/form-data' ? `${type}; boundary=${BOUNDARY}` : type;
  return {
    method: method.toUpperCase(),
    path: query === '' ? path : `${path}?${query}`,
    headers: { ...draft.headers, ...(contentType === undefined ? {} : { 'content-type': contentType }) },
    body: Buffer.isBuffer(body) ? body : (JSON.stringify(body) ?? ''),
    caller,
  };
}
