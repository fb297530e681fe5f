import { EnvelopeError } from '../crypto/envelope-error.ts';
import { open, seal, type EnvelopeBinding } from '../crypto/envelope.ts';
import type { KeyRing } from '../ports/key-ring.ts';
import type { Confidential } from '../resources/confidential.ts';
import type { Kind, Resource } from '../resources/kinds.ts';

/**
 * Every confidential field of every kind, by its path in the object, which is also the `field` of its envelope's
 * binding. A test fails when a schema holds a confidential field that is not in this list.
 */
export const CONFIDENTIAL_FIELDS = {
  Function: [],
  CodeSource: ['spec.git.authToken', 'spec.sync.webhook.secret'],
  KeyGroup: [],
  ApiKey: ['spec.value', 'spec.previousValue'],
  FunctionSecret: ['spec.value'],
  Settings: [],
} as const satisfies Record<Kind, readonly string[]>;
export type ConfidentialField<K extends Kind = Kind> = (typeof CONFIDENTIAL_FIELDS)[K][number];

/** Kinds with a field that may hold an envelope. */
export const ENCRYPTED_KINDS = (Object.keys(CONFIDENTIAL_FIELDS) as Kind[]).filter(
  (kind) => CONFIDENTIAL_FIELDS[kind].length > 0,
);

/** Replaces a confidential value wherever it must not be shown. */
export const REDACTED = '***REDACTED***';

/** What the functions below need to know of an object, so that they also accept one that is not stored yet. */
interface ConfidentialOwner<K extends Kind = Kind> {
  kind: K;
  metadata: { namespace: string; name: string };
}

/** Where the envelope of an object's field belongs. */
function bindingOf<K extends Kind>(owner: ConfidentialOwner<K>, field: ConfidentialField<K>): EnvelopeBinding {
  return { kind: owner.kind, namespace: owner.metadata.namespace, name: owner.metadata.name, field };
}

/** Seals a value for an object's field, as the field holds it. */
export function sealConfidential<K extends Kind>(
  keyRing: KeyRing,
  owner: ConfidentialOwner<K>,
  field: ConfidentialField<K>,
  plaintext: string,
): Confidential {
  return { encrypted: seal(keyRing, bindingOf(owner, field), plaintext) };
}

/**
 * Opens the value of an object's field.
 * @throws EnvelopeError; code `no_envelope` when the field is absent or refers to a Kubernetes Secret.
 */
export function openConfidential<K extends Kind>(
  keyRing: KeyRing,
  resource: Resource<K>,
  field: ConfidentialField<K>,
): string {
  const encrypted = read(resource, field)?.encrypted;
  if (encrypted === undefined) throw new EnvelopeError('no_envelope', `of ${field} is not in the object itself`);
  return open(keyRing, bindingOf(resource, field), encrypted);
}

/** The confidential values that an object holds now. */
export function confidentialValues<K extends Kind>(
  resource: Resource<K>,
): { field: ConfidentialField<K>; value: Confidential }[] {
  return fieldsOf(resource.kind).flatMap((field) => {
    const value = read(resource, field);
    return value === undefined ? [] : [{ field, value }];
  });
}

/** A copy of the object whose field holds this value. The field must be there. */
export function withConfidential<K extends Kind>(
  resource: Resource<K>,
  field: ConfidentialField<K>,
  value: Confidential,
): Resource<K> {
  const copy = structuredClone(resource);
  const path = field.split('.');
  const owner = step(copy, path.slice(0, -1));
  const last = path.at(-1);
  if (owner === undefined || last === undefined) throw new Error(`${field} is not in the object`);
  owner[last] = value as unknown as Node;
  return copy;
}

function fieldsOf<K extends Kind>(kind: K): readonly ConfidentialField<K>[] {
  return CONFIDENTIAL_FIELDS[kind];
}

function read(resource: object, field: string): Confidential | undefined {
  return step(resource, field.split('.'));
}

interface Node {
  [name: string]: Node | undefined;
}

/** Objects were validated when they were stored, so only absent values need to be handled here. */
function step(from: object, path: readonly string[]): Node | undefined {
  let node: Node | undefined = from as Node;
  for (const name of path) node = node?.[name];
  return node;
}
