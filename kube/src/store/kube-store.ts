import { conflict, DomainError, isDomainError, notFound } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { NewResource, ResourceList, ResourceStore, WatchEvent } from '@wherry/core/ports/resource-store.ts';
import { KINDS, type Kind, type Resource } from '@wherry/core/resources/kinds.ts';
import { API_VERSION, nameSchema } from '@wherry/core/resources/meta.ts';
import { describe, refuse } from '@wherry/core/store-rules/parse-object.ts';
import { applyCreate, applyStatus, applyUpdate } from '@wherry/core/store-rules/transitions.ts';
import type { Change, Preconditions, WriteStamp } from '@wherry/core/store-rules/transitions.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { listObjects } from '../client/list-objects.ts';
import { watchObjects, type WatchLimits } from '../client/watch-objects.ts';
import { callersPart, toCustomObject, toResource, type CustomObject } from './custom-object.ts';

/** How many objects that are not understood are remembered, so that each state is logged once. */
const COMPLAINTS = 1000;

interface KubeStoreOptions {
  client: KubeClient;
  namespace: string;
  clock: Clock;
  logger: Logger;
  limits?: WatchLimits;
}

/**
 * The custom resources of one namespace as a ResourceStore. The pure transitions that SQLite's store uses decide each
 * write from the newest state, so that both refuse the same; the API server then accepts the write only if that state
 * is still current. What only the API server refuses is `validation_failed` with its field.
 */
export class KubeStore implements ResourceStore {
  readonly namespace: string;
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #limits: WatchLimits | undefined;
  readonly #complained = new Set<string>();

  constructor({ client, namespace, clock, logger, limits }: KubeStoreOptions) {
    this.namespace = namespace;
    this.#client = client;
    this.#clock = clock;
    this.#logger = logger;
    this.#limits = limits;
  }

  async get<K extends Kind>(kind: K, name: string): Promise<Resource<K> | undefined> {
    const raw = await this.#read(kind, name);
    return raw && this.#toResource(kind, raw);
  }

  async list<K extends Kind>(kind: K): Promise<ResourceList<K>> {
    const list = await attempt(kind, '', () => listObjects<CustomObject>(this.#client, { path: this.#path(kind) }));
    return { items: list.items.map((raw) => this.#toResource(kind, raw)), resourceVersion: list.resourceVersion };
  }

  async create<K extends Kind>(object: NewResource<K>): Promise<Resource<K>> {
    const { kind } = object;
    const { metadata, spec } = applyCreate(undefined, object, this.#stamp()).object;
    const body = { apiVersion: API_VERSION, kind, metadata: { name: metadata.name, ...callersPart(metadata) }, spec };
    const raw = await this.#create(kind, metadata.name, body);
    return this.#toResource(kind, raw);
  }

  async update<K extends Kind>(object: Resource<K>): Promise<Resource<K>> {
    return this.#replace(object, '', applyUpdate);
  }

  async updateStatus<K extends Kind>(object: Resource<K>): Promise<Resource<K>> {
    return this.#replace(object, '/status', applyStatus);
  }

  async delete(kind: Kind, name: string, preconditions?: Preconditions): Promise<void> {
    if (!isName(name)) throw notFound(`${describe(kind, name)} does not exist`);
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', ...(preconditions !== undefined && { preconditions }) };
    await attempt(kind, name, () => this.#client.request({ method: 'DELETE', path: this.#path(kind, name), body }));
  }

  async *watch<K extends Kind>(
    kind: K,
    options: { resourceVersion: string; signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<K>, void> {
    const { signal } = options;
    let { resourceVersion } = options;
    if (signal.aborted) return;
    if (resourceVersion === '0') {
      // The API server sends its initial events in an order from which a watch could not be resumed.
      const list = await this.list(kind);
      resourceVersion = list.resourceVersion;
      for (const object of list.items) {
        // The reader may have aborted since the last one.
        if (signal.aborted as boolean) return;
        yield { type: 'added', object };
      }
    }
    const watch = { path: this.#path(kind), resourceVersion, signal, ...(this.#limits && { limits: this.#limits }) };
    for await (const event of watchObjects<CustomObject>(this.#client, this.#clock, watch)) {
      if (event.type === 'bookmark') yield event;
      else yield { type: event.type, object: this.#toResource(kind, event.object) };
    }
  }

  /** Reads the object, has the change decided, writes it unless another write came in between. */
  async #replace<K extends Kind>(
    sent: Resource<K>,
    subresource: '' | '/status',
    decide: (current: Resource<K> | undefined, sent: Resource<K>, stamp: WriteStamp) => Change<K> | undefined,
  ): Promise<Resource<K>> {
    const { kind, metadata } = sent;
    const raw = await this.#read(kind, metadata.name);
    const current = raw && this.#toResource(kind, raw);
    const change = decide(current, sent, this.#stamp());
    if (raw === undefined || current === undefined || change === undefined) return current as Resource<K>;
    const path = this.#path(kind, metadata.name) + subresource;
    const body = toCustomObject(raw, change.object);
    const written = await attempt(kind, metadata.name, () =>
      this.#client.request<CustomObject>({ method: 'PUT', path, body }),
    );
    return this.#toResource(kind, written);
  }

  async #read(kind: Kind, name: string): Promise<CustomObject | undefined> {
    if (!isName(name)) return undefined;
    try {
      return await attempt(kind, name, () =>
        this.#client.request<CustomObject>({ method: 'GET', path: this.#path(kind, name) }),
      );
    } catch (error) {
      if (isDomainError(error, 'not_found')) return undefined;
      throw error;
    }
  }

  async #create(kind: Kind, name: string, body: object): Promise<CustomObject> {
    try {
      return await this.#client.request<CustomObject>({ method: 'POST', path: this.#path(kind), body });
    } catch (error) {
      // For a create only the namespace can be missing, which the caller cannot change.
      if (isDomainError(error, 'not_found')) throw new DomainError('unavailable', error.message);
      if (isDomainError(error, 'conflict')) throw conflict(`${describe(kind, name)} already exists`);
      throw translate(error, kind, name);
    }
  }

  #path(kind: Kind, name?: string): string {
    const collection = `/apis/${API_VERSION}/namespaces/${this.namespace}/${KINDS[kind].plural}`;
    return name === undefined ? collection : `${collection}/${name}`;
  }

  #toResource<K extends Kind>(kind: K, raw: CustomObject): Resource<K> {
    return toResource(kind, raw, ({ metadata }, part) => {
      const state = `${metadata.uid}/${metadata.resourceVersion}/${part}`;
      if (this.#complained.has(state)) return;
      if (this.#complained.size >= COMPLAINTS) this.#complained.clear();
      this.#complained.add(state);
      this.#logger.warn(
        { object: describe(kind, metadata.name), part },
        "an object does not fit this version's schema of its kind",
      );
    });
  }

  /** Only its namespace is used: the API server assigns the rest. */
  #stamp(): WriteStamp {
    return { namespace: this.namespace, resourceVersion: '0', uid: '', now: this.#clock.now() };
  }
}

/** Makes errors name the object as all stores do; a missing permission of our role is not a refusal of the caller. */
async function attempt<T>(kind: Kind, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translate(error, kind, name);
  }
}

/** @param name empty for a list. */
function translate(error: unknown, kind: Kind, name: string): unknown {
  if (!isDomainError(error)) return error;
  switch (error.code) {
    case 'not_found':
      return notFound(`${describe(kind, name)} does not exist`);
    case 'conflict':
      // A list's state is no longer kept.
      if (name === '') return error;
      return conflict(`${describe(kind, name)} has changed since it was read: read it again and retry`);
    case 'validation_failed':
      return error.details === undefined ? error : refuse({ kind, metadata: { name } }, error.details);
    case 'forbidden':
      return new DomainError('unavailable', error.message);
    default:
      return error;
  }
}

/** An invalid name must not get into a path: `..` and the empty name would mean something else there. */
function isName(name: string): boolean {
  return nameSchema.safeParse(name).success;
}
