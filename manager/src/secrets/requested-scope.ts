import type { SecretScope } from '@wherry/core/resources/function-secret.ts';
import type { ErrorDetail } from '@wherry/core/errors.ts';
import { refused } from '../http/validate.ts';
import type { SecretCreate } from './secret-schemas.ts';

/** By scope: the field of the API that names the owner, the owner's kind, and the field of the spec. */
export const OWNERS = {
  function: { field: 'functionId', kind: 'Function', specField: 'function' },
  group: { field: 'groupId', kind: 'KeyGroup', specField: 'keyGroup' },
  key: { field: 'keyId', kind: 'ApiKey', specField: 'apiKey' },
} as const;
type OwnedScope = keyof typeof OWNERS;
type OwnerField = (typeof OWNERS)[OwnedScope]['field'];
export const OWNED_SCOPES = Object.keys(OWNERS) as OwnedScope[];

/** Where a secret is to be created. `givenAs` is the field of the body that holds the owner's id. */
export type RequestedScope =
  | { scope: 'global'; owner?: never }
  | { scope: OwnedScope; owner: (typeof OWNERS)[OwnedScope] & { id: string; givenAs: string } };

type ScopeFields = Pick<SecretCreate, 'scope' | 'scopeType' | 'scopeRef' | 'functionId' | 'groupId' | 'keyId'>;

/** @throws DomainError `validation_failed` where fields are missing, contradict each other, or do not fit the scope. */
export function requestedScope(body: ScopeFields): RequestedScope {
  const scope = body.scope ?? body.scopeType;
  if (scope === undefined) throw refused([{ path: 'scope', message: 'is required' }]);
  const given = scope === 'global' ? undefined : givenOwner(body, OWNERS[scope].field);
  const details = [
    ...contradiction(body),
    ...fieldsOfOtherScopes(body, scope),
    ...(scope === 'global' ? foreignReference(body) : ownerProblem(body, scope, given)),
  ];
  if (details.length > 0) throw refused(details);
  return scope === 'global' || given === undefined
    ? { scope: 'global' }
    : { scope, owner: { ...OWNERS[scope], ...given } };
}

type GivenOwner = { id: string; givenAs: string } | undefined;

function givenOwner(body: ScopeFields, field: OwnerField): GivenOwner {
  for (const givenAs of [field, 'scopeRef'] as const) {
    const id = body[givenAs];
    if (isSet(id)) return { id, givenAs };
  }
  return undefined;
}

function contradiction({ scope, scopeType }: ScopeFields): ErrorDetail[] {
  const isOne = scope === undefined || scopeType === undefined || scope === scopeType;
  return isOne ? [] : [{ path: 'scopeType', message: 'must be the same as scope' }];
}

function fieldsOfOtherScopes(body: ScopeFields, scope: SecretScope): ErrorDetail[] {
  return OWNED_SCOPES.flatMap((other) => {
    const { field } = OWNERS[other];
    const isForeign = other !== scope && isSet(body[field]);
    return isForeign ? [{ path: field, message: `must be absent unless scope is ${other}` }] : [];
  });
}

function foreignReference({ scopeRef }: ScopeFields): ErrorDetail[] {
  return isSet(scopeRef) ? [{ path: 'scopeRef', message: 'must be absent for scope global' }] : [];
}

function ownerProblem({ scopeRef }: ScopeFields, scope: OwnedScope, given: GivenOwner): ErrorDetail[] {
  const { field } = OWNERS[scope];
  if (given === undefined) return [{ path: field, message: `is required for scope ${scope}` }];
  const isOne = !isSet(scopeRef) || scopeRef === given.id;
  return isOne ? [] : [{ path: 'scopeRef', message: `must be the same as ${field}` }];
}

function isSet<T>(value: T): value is NonNullable<T> {
  return value !== null && value !== undefined;
}
