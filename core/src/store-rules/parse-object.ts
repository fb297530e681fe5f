import { z } from 'zod';
import { issueMessage } from '../issue-message.ts';
import { invalid, type ErrorDetail } from '../errors.ts';
import { KINDS, type Kind, type KindDefinition, type KindTypes } from '../resources/kinds.ts';
import { API_VERSION, nameSchema } from '../resources/meta.ts';

const QUALIFIED_NAME =
  /^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const ANNOTATIONS_LIMIT = 256 * 1024;

const qualifiedName = z.string().max(317).regex(QUALIFIED_NAME, 'must be a qualified name such as wherry.dev/name');

/** What a caller may send as metadata: what the store assigns may be sent back, and is ignored. */
const metadataSchema = z.strictObject({
  name: nameSchema,
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  finalizers: z.array(qualifiedName).optional(),
  labels: z.record(qualifiedName, z.string().regex(LABEL_VALUE, 'must be a label value')).optional(),
  annotations: z
    .record(qualifiedName, z.string())
    .refine((annotations) => bytesOf(annotations) <= ANNOTATIONS_LIMIT, { message: 'must not exceed 256 KiB in total' })
    .optional(),
});
export type SentMetadata = z.infer<typeof metadataSchema>;

const sentSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION, `must be ${API_VERSION}`).optional(),
  kind: z.string(),
  metadata: metadataSchema,
  spec: z.unknown(),
  status: z.unknown().optional(),
});

/** Any object that a caller sends: typed by TypeScript, but checked as if it were not. */
interface SentObject<K extends Kind> {
  kind: K;
  metadata: { name: string };
  spec?: unknown;
  status?: unknown;
}

/**
 * Checks all but spec and status. Empty labels, annotations and finalizers become absent, as in Kubernetes.
 */
export function parseMetadata<K extends Kind>(sent: SentObject<K>, namespace: string): SentMetadata {
  const { metadata } = parse(sentSchema, sent, sent, '');
  if (metadata.namespace !== undefined && metadata.namespace !== namespace) {
    throw refuse(sent, [{ path: 'metadata.namespace', message: `must be ${namespace}` }]);
  }
  parse(definitionOf(sent).name, metadata.name, sent, 'metadata.name');
  return metadata;
}

/** The spec with its defaults, as its JSON reads back. */
export function parseSpec<K extends Kind>(sent: SentObject<K>): KindTypes[K]['spec'] {
  return parse(definitionOf(sent).spec, sent.spec, sent, 'spec');
}

/** The status, as its JSON reads back. */
export function parseStatus<K extends Kind>(sent: SentObject<K>): KindTypes[K]['status'] {
  return parse(definitionOf(sent).status, sent.status, sent, 'status');
}

/** A `validation_failed` that names the object and every offending field. */
export function refuse(object: SentObject<Kind>, details: ErrorDetail[]): Error {
  const fields = details.map((detail) => `${detail.path}: ${detail.message}`).join('; ');
  return invalid(`${describe(object.kind, object.metadata?.name)} is not valid: ${fields}`, details);
}

/** How errors name an object: `Function "hello"`. */
export function describe(kind: string, name: string): string {
  return `${kind} "${name}"`;
}

function definitionOf<K extends Kind>(sent: SentObject<K>): KindDefinition<K> {
  if (!Object.hasOwn(KINDS, sent.kind)) throw refuse(sent, [{ path: 'kind', message: 'is not a Wherry kind' }]);
  return KINDS[sent.kind];
}

function parse<T>(schema: z.ZodType<T>, value: unknown, sent: SentObject<Kind>, root: string): T {
  const parsed = schema.safeParse(value);
  if (!parsed.success)
    throw refuse(
      sent,
      parsed.error.issues.flatMap((issue) => detailsOf(issue, root)),
    );
  return JSON.parse(JSON.stringify(parsed.data)) as T;
}

function detailsOf(issue: z.core.$ZodIssue, root: string): ErrorDetail[] {
  const path = fieldPath(root, issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: fieldPath(path, [key]), message: 'is not a known field' }));
  }
  const reasons =
    issue.code === 'invalid_key'
      ? issue.issues.map((inner) => issueMessage(inner.message)).join(', ')
      : issueMessage(issue.message);
  return [{ path, message: reasons }];
}

/** `spec.methods[0]`, as Kubernetes writes it. */
function fieldPath(root: string, path: PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, root);
}

function bytesOf(map: Record<string, string>): number {
  return Object.entries(map).reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
}
