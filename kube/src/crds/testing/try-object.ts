import { isDomainError, type ErrorDetail } from '@wherry/core/errors.ts';
import { KINDS, type Kind } from '@wherry/core/resources/kinds.ts';
import { API_VERSION } from '@wherry/core/resources/meta.ts';
import { applyCreate, applyStatus } from '@wherry/core/store-rules/transitions.ts';
import type { NewResource } from '@wherry/core/ports/resource-store.ts';
import { Agent, fetch } from 'undici';
import type { ApiServer } from '../../testing/api-server.ts';
import type { Sample } from './sample-objects.ts';

const NAMESPACE = 'default';
const JSON_TYPE = 'application/json';
const DRY_RUN = 'dryRun=All&fieldValidation=Strict';
const STAMP = { namespace: NAMESPACE, resourceVersion: '2', uid: 'u', now: 0 };

/** What one of the two said: undefined when it takes the object. */
type Refusal = string | undefined;

/** The object of a sample, as a client sends it. */
function objectOf([kind, spec, name = 'sample']: Sample): object {
  return { apiVersion: API_VERSION, kind, metadata: { name, namespace: NAMESPACE }, spec };
}

/** What the schemas of core say to a create. */
export function tryWithZod(sample: Sample): Refusal {
  return refusalOf(() => applyCreate(undefined, objectOf(sample) as NewResource<Kind>, STAMP));
}

/** What they say to a status. */
export function tryStatusWithZod(kind: Kind, status: unknown): Refusal {
  const metadata = {
    name: 'sample',
    namespace: NAMESPACE,
    uid: 'u',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '',
  };
  const stored = { apiVersion: API_VERSION, kind, metadata, spec: {}, status: {} } as Parameters<typeof applyStatus>[1];
  return refusalOf(() => applyStatus(stored, { ...stored, status: status as object }, STAMP));
}

function refusalOf(write: () => unknown): Refusal {
  try {
    write();
    return undefined;
  } catch (error) {
    if (!isDomainError(error, 'validation_failed')) throw error;
    return (error.details ?? []).map(({ path, message }: ErrorDetail) => `${path}: ${message}`).join('; ');
  }
}

/** Tries objects with a real kube-apiserver, which keeps none of them. */
export class DryRun {
  readonly #server: ApiServer;
  readonly #dispatcher: Agent;

  constructor(server: ApiServer) {
    this.#server = server;
    this.#dispatcher = new Agent({ connect: { ca: server.ca } });
  }

  /** What the server says to a create. */
  async create(sample: Sample): Promise<Refusal> {
    return (await this.#send('POST', this.#path(sample[0]), objectOf(sample))).refusal;
  }

  /** What it says to a status of an object that `keep` stored. */
  async status(kind: Kind, stored: object, status: unknown): Promise<Refusal> {
    return (await this.#send('PUT', `${this.#path(kind)}/sample/status`, { ...stored, status })).refusal;
  }

  /** Stores an object, for its status to be tried; gives it as it is stored. */
  async keep(sample: Sample): Promise<object> {
    const path = this.#path(sample[0]);
    const created = await this.#send('POST', path, objectOf(sample), { query: '' });
    return created.status === 201 ? created.body : (await this.#send('GET', `${path}/sample`)).body;
  }

  /** Any request of the namespace's objects of a kind; a write is kept. */
  async request<T>(
    method: string,
    kind: Kind,
    { path = '', body, accept }: { path?: string; body?: object; accept?: string } = {},
  ): Promise<T> {
    return (await this.#send(method, `${this.#path(kind)}${path}`, body, { query: '', accept })).body as T;
  }

  /** Server-side apply by another client, which takes every field that it names. */
  async apply<T>(kind: Kind, name: string, object: object): Promise<T> {
    const query = 'fieldManager=git&force=true';
    return (
      await this.#send('PATCH', `${this.#path(kind)}/${name}`, object, {
        query,
        contentType: 'application/apply-patch+yaml',
      })
    ).body as T;
  }

  /** The kinds of the group, as kubectl discovers them. */
  async discover(): Promise<object[]> {
    return ((await this.#send('GET', `/apis/${API_VERSION}`)).body as { resources: object[] }).resources;
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
  }

  #path(kind: Kind): string {
    return `/apis/${API_VERSION}/namespaces/${NAMESPACE}/${KINDS[kind].plural}`;
  }

  async #send(method: string, path: string, body?: object, options: SendOptions = {}): Promise<Answer> {
    const { query, accept, contentType } = { query: DRY_RUN, contentType: JSON_TYPE, ...options };
    const answer = await fetch(`${this.#server.url}${path}?${query}`, {
      method,
      dispatcher: this.#dispatcher,
      headers: {
        authorization: `Bearer ${this.#server.token}`,
        'content-type': contentType,
        accept: accept ?? JSON_TYPE,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const { status } = answer;
    const read = (await answer.json()) as { message?: string };
    const refused = status === 422 || status === 400;
    if (!refused && status !== 409 && !answer.ok) throw new Error(`${status}: ${read.message}`);
    return { status, body: read, refusal: refused ? read.message : undefined };
  }
}

interface SendOptions {
  query?: string;
  accept?: string | undefined;
  contentType?: string;
}

interface Answer {
  status: number;
  body: object;
  refusal: Refusal;
}
