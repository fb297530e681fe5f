import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import type { FunctionSecretResource } from '@wherry/core/resources/kinds.ts';
import { namedOwner } from '@wherry/core/resources/secret-owner.ts';
import { timesOf } from '../object-access/shape.ts';
import type { SecretView } from './secret-schemas.ts';

/** A secret as the API shows it, without its value. */
export function secretView(secret: FunctionSecretResource): SecretView {
  const { metadata, spec } = secret;
  return {
    id: metadata.name,
    name: spec.name,
    comment: spec.comment ?? null,
    scope: spec.scope,
    scopeType: spec.scope,
    scopeRef: namedOwner(spec)?.name ?? null,
    functionId: spec.function ?? null,
    groupId: spec.keyGroup ?? null,
    keyId: spec.apiKey ?? null,
    ...timesOf(secret),
  };
}

/** The same with its value, or with why that cannot be read: the other secrets of a list must still be readable. */
export function secretWithValue(secret: FunctionSecretResource, reader: ConfidentialReader): SecretView {
  const { value, problem } = reader.read(secret, 'spec.value');
  return { ...secretView(secret), ...(problem === undefined ? { value } : { decryptionError: problem.message }) };
}
