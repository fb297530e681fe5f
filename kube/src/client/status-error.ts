import { conflict, DomainError, invalid, notFound, type ErrorDetail } from '@wherry/core/errors.ts';

/** The part of a request that an error may name. */
interface RequestName {
  method: string;
  path: string;
}

interface Cause {
  reason?: string;
  message?: string;
  field?: string;
}

/** What kube-apiserver sends instead of an object (`kind: Status`), as far as we use it. */
export interface Status {
  reason?: string;
  message?: string;
  code?: number;
  details?: { name?: string; group?: string; kind?: string; causes?: Cause[] };
}

/** A value as the API server prints it before the problem: Go's quoted string, a number, a word. */
const PRINTED_VALUE =
  /^(?:Invalid|Unsupported|Duplicate) value: (?:"(?:[^"\\]|\\.)*"|-?[0-9][0-9.e+-]*|true|false|null)(?:: (.*))?$/s;
const WITHOUT_VALUE = /^(?:Required value|Forbidden|Too long|Too many)(?:: (.*))?$/s;
/** Reasons for a 403 that do not concern roles, and contain no value from an object. */
const REFUSALS = [
  /exceeded quota: .*/,
  /violates PodSecurity .*/,
  /because it is being terminated/,
  /no API token found for service account .*/,
];
const VERBS: Record<string, string> = { GET: 'read', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/**
 * A refusal of the API server as a DomainError: what is refused, the field where there is one, and what to do. It
 * contains no value from an object: the server's own message would include, for example, an invalid value of a Secret.
 */
export function statusError(code: number, status: Status, request: RequestName): DomainError {
  const what = describePath(request.path);
  switch (code) {
    case 400:
    case 422:
      return refusedFields(status, request);
    case 403:
      return new DomainError('forbidden', forbiddenMessage(status, request));
    case 404:
      return missing(status, what);
    case 409:
      if (status.reason === 'AlreadyExists') return conflict(`${nameOf(status, what)} already exists`);
      return conflict(`${nameOf(status, what)} has changed since it was read: read it again and retry`);
    case 410:
      return conflict(`Expired: the API server no longer keeps that state of ${what}: list again`);
    case 413:
      return new DomainError('too_large', `${what} is larger than the API server accepts`);
    case 401:
      return unavailable('The API server does not accept our credentials: check the service account or the kubeconfig');
    default:
      return otherError(code, what);
  }
}

/** The API server could not be called, or could not answer. */
export function unavailable(message: string): DomainError {
  return new DomainError('unavailable', message);
}

/** `functions.wherry.dev "hello" in namespace "x"` for its path. */
export function describePath(path: string): string {
  const { resource, name, namespace } = partsOf(path);
  return (
    resource +
    (name === undefined ? '' : ` "${name}"`) +
    (namespace === undefined ? '' : ` in namespace "${namespace}"`)
  );
}

/** Whether the path is that of all objects of a kind. */
export function isCollection(path: string): boolean {
  return partsOf(path).name === undefined;
}

function partsOf(path: string): { resource: string; name?: string | undefined; namespace?: string | undefined } {
  const [root, ...rest] = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const group = root === 'apis' ? `.${rest.shift() ?? ''}` : '';
  const [, ...inVersion] = rest;
  const namespace = inVersion[0] === 'namespaces' && inVersion.length > 2 ? inVersion[1] : undefined;
  const [plural, name, subresource] = namespace === undefined ? inVersion : inVersion.slice(2);
  if (plural === undefined) return { resource: path };
  return { resource: plural + group + (subresource === undefined ? '' : `/${subresource}`), name, namespace };
}

function otherError(code: number, what: string): DomainError {
  if (code === 429) return unavailable(`The API server is overloaded for ${what}: trying again`);
  if (code >= 500) return unavailable(`The API server failed with status ${code} for ${what}`);
  return new DomainError('internal_error', `The API server answered with status ${code} for ${what}`);
}

/** Without a name in its details, not the object is missing but its kind. */
function missing(status: Status, what: string): DomainError {
  if (status.details?.name !== undefined) return notFound(`${nameOf(status, what)} does not exist`);
  return unavailable(`The API server does not know ${what}: are the custom resource definitions installed?`);
}

/**
 * The object as the server names it: in a create, the path has no name, and it may be the namespace that is missing.
 */
function nameOf({ details }: Status, what: string): string {
  if (details?.name === undefined || details.kind === undefined) return what;
  return `${details.kind}${details.group === undefined ? '' : `.${details.group}`} "${details.name}"`;
}

function forbiddenMessage({ message = '' }: Status, { method, path }: RequestName): string {
  const action = `${VERBS[method] ?? method} ${describePath(path)}`;
  const known = REFUSALS.map((refusal) => refusal.exec(message)?.[0]).find((text) => text !== undefined);
  if (known !== undefined) return `The API server refuses to ${action}: ${known.slice(0, 500)}`;
  const role = /User "([^"]+)" cannot (\w+) resource "([^"]+)"/.exec(message);
  if (role === null)
    return `The API server refuses to ${action}: a policy or the role of this service account forbids it`;
  return `"${role[1]}" may not ${role[2]} ${role[3]} (needed to ${action}): grant it in the role`;
}

function refusedFields(status: Status, { path }: RequestName): DomainError {
  const details = [...causesOf(status), ...strictErrors(status.message ?? '')];
  const what = nameOf(status, describePath(path));
  if (details.length === 0) return invalid(`The API server rejects ${what} as invalid`);
  return invalid(
    `${what} is not valid: ${details.map((detail) => `${detail.path}: ${detail.message}`).join('; ')}`,
    details,
  );
}

function causesOf({ details }: Status): ErrorDetail[] {
  return (details?.causes ?? []).flatMap(({ field, message }) => {
    if (field === undefined) return [];
    return [{ path: field === '<nil>' ? '' : field, message: withoutValue(message ?? '') }];
  });
}

/** `unknown field "spec.colour"`, and fields of a wrong type. */
function strictErrors(message: string): ErrorDetail[] {
  const unknown = [...message.matchAll(/unknown field "([^"]+)"/g)].map((match) => ({
    path: match[1] ?? '',
    message: 'is not a known field',
  }));
  const typed = /cannot unmarshal \w+ into Go struct field \w+\.([\w.]+) of type/.exec(message);
  return typed === null ? unknown : [...unknown, { path: typed[1] ?? '', message: 'has the wrong type' }];
}

function withoutValue(message: string): string {
  const match = PRINTED_VALUE.exec(message) ?? WITHOUT_VALUE.exec(message);
  return match?.[1] ?? (message.startsWith('Required value') ? 'is required' : 'is not valid');
}
