import { conflict, isDomainError } from '@wherry/core/errors.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { KubeObject } from '../client/kube-object.ts';
import { applyObject } from '../client/apply-object.ts';
import { describePath } from '../client/status-error.ts';
import { compareObject } from './compare-object.ts';
import { FIELD_MANAGER, FUNCTION_UID_ANNOTATION, MANAGED_BY, MANAGED_BY_LABEL } from './names.ts';

/** The part of an object cache that is read here. It must hold all objects of the path, foreign ones too. */
interface CacheView<T extends KubeObject> {
  get(name: string): T | undefined;
  list(): T[];
  onChange(callback: (name: string, object: T | undefined) => void): () => void;
}

interface OwnedObjectsOptions<T extends KubeObject> {
  client: KubeClient;
  cache: CacheView<T>;
  /** `/api/v1/namespaces/x/services`. */
  path: string;
}

/** An object that a builder creates. */
interface DesiredObject {
  metadata?: { name?: string; annotations?: Record<string, string> };
}

/** An object of another owner has the name: it is left alone. The message names it. */
export class NotOursError extends Error {
  constructor(path: string) {
    super(`An object that does not belong to Wherry has the name ${describePath(path)}: delete or rename it.`);
    this.name = 'NotOursError';
  }
}

/** What the API server fills in by itself, and clients need not write. */
const KNOWN_DEFAULTS = [
  '/spec/clusterIPs',
  '/spec/ipFamilies',
  '/spec/ipFamilyPolicy',
  '/spec/internalTrafficPolicy',
  '/spec/sessionAffinity',
];

/** Objects of one kind that belong to functions: written only where they differ from the desired state (K2, K3). */
export class OwnedObjects<T extends KubeObject> {
  readonly #options: OwnedObjectsOptions<T>;
  /** Our writes that the cache has not seen yet. */
  readonly #written = new Map<string, T>();
  /** Uids of objects that we deleted and the cache still has. */
  readonly #deleted = new Map<string, string>();
  /** Surplus that came back after it was removed: it is the API server's own. */
  readonly #defaults = new Set<string>(KNOWN_DEFAULTS);

  constructor(options: OwnedObjectsOptions<T>) {
    this.#options = options;
    options.cache.onChange((name, object) => this.#forgetStale(name, object));
  }

  /** The newest known state; undefined for one that was deleted. */
  get(name: string): T | undefined {
    const cached = this.#options.cache.get(name);
    if (cached?.metadata.uid !== undefined && this.#deleted.get(name) === cached.metadata.uid) return undefined;
    return this.#written.get(name) ?? cached;
  }

  /** The newest known states of all objects. */
  list(): T[] {
    const names = new Set([
      ...this.#options.cache.list().map(({ metadata }) => metadata.name),
      ...this.#written.keys(),
    ]);
    return [...names].flatMap((name) => this.get(name) ?? []);
  }

  /** Whether the object is as it should be; no request goes to the API server. */
  isAsDesired(desired: DesiredObject): boolean {
    const object = this.get(desired.metadata?.name ?? '');
    if (object === undefined) return false;
    return !compareObject(desired, object).differs && this.#surplus(desired, object).length === 0;
  }

  /**
   * Brings the object to this state where it differs.
   * @throws NotOursError; DomainError as the client does.
   */
  async apply(desired: DesiredObject): Promise<void> {
    const name = desired.metadata?.name ?? '';
    const functionUid = desired.metadata?.annotations?.[FUNCTION_UID_ANNOTATION] ?? '';
    const before = this.get(name);
    if (before === undefined) return this.#create(name, desired, functionUid);
    if (!belongsTo(before, functionUid)) {
      if (!isOfAnotherFunction(before)) throw new NotOursError(this.#path(name));
      // It belongs to an earlier function of the name and is being removed: Kubernetes would take longer.
      await this.delete(name);
      return this.#create(name, desired, functionUid);
    }
    const { differs } = compareObject(desired, before);
    const after = differs ? await this.#apply(name, desired) : before;
    await this.#removeSurplus(name, desired, after);
  }

  /** Deletes the object that is known now, and its dependents in the background. A missing one is ignored. */
  async delete(name: string): Promise<void> {
    const known = this.get(name);
    if (known === undefined) return;
    const { uid } = known.metadata;
    try {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background', preconditions: { uid } };
      await this.#options.client.request({ method: 'DELETE', path: this.#path(name), body });
    } catch (error) {
      // `conflict`: another object has the name by now.
      if (!isDomainError(error, 'not_found') && !isDomainError(error, 'conflict')) throw error;
    }
    this.#written.delete(name);
    if (this.#options.cache.get(name)?.metadata.uid === uid) this.#deleted.set(name, uid);
  }

  /** Without force: what another client created meanwhile is not taken over. */
  async #create(name: string, desired: object, functionUid: string): Promise<void> {
    const { client } = this.#options;
    const path = this.#path(name);
    try {
      const contentType = 'application/apply-patch+yaml';
      this.#remember(
        name,
        await client.request<T>({
          method: 'PATCH',
          path,
          query: { fieldManager: FIELD_MANAGER },
          contentType,
          body: desired,
        }),
      );
    } catch (error) {
      if (!isDomainError(error, 'conflict')) throw error;
      const found = await client.request<T>({ method: 'GET', path });
      if (!belongsTo(found, functionUid)) throw new NotOursError(path);
      this.#remember(name, found);
      throw conflict(`${describePath(path)} was changed by another client at the same time.`);
    }
  }

  async #apply(name: string, object: object): Promise<T> {
    const path = this.#path(name);
    return this.#remember(
      name,
      await applyObject<T>(this.#options.client, { path, object, fieldManager: FIELD_MANAGER }),
    );
  }

  async #removeSurplus(name: string, desired: object, actual: T): Promise<void> {
    const surplus = this.#surplus(desired, actual);
    if (surplus.length === 0) return;
    const test = { op: 'test', path: '/metadata/resourceVersion', value: actual.metadata.resourceVersion };
    const body = [test, ...surplus.map((path) => ({ op: 'remove', path }))];
    const contentType = 'application/json-patch+json';
    const { client } = this.#options;
    const after = await client.request<T>({
      method: 'PATCH',
      path: this.#path(name),
      query: { fieldManager: FIELD_MANAGER },
      contentType,
      body,
    });
    this.#remember(name, after);
    for (const path of this.#surplus(desired, after)) if (surplus.includes(path)) this.#defaults.add(path);
  }

  #surplus(desired: object, actual: T): string[] {
    return compareObject(desired, actual).surplus.filter((path) => !this.#defaults.has(path));
  }

  #remember(name: string, object: T): T {
    const cached = this.#options.cache.get(name);
    if (cached === undefined || isNewer(object, cached)) this.#written.set(name, object);
    return object;
  }

  #forgetStale(name: string, object: T | undefined): void {
    const written = this.#written.get(name);
    if (object === undefined || (written !== undefined && !isNewer(written, object))) this.#written.delete(name);
    if (object?.metadata.uid !== this.#deleted.get(name)) this.#deleted.delete(name);
  }

  #path(name: string): string {
    return `${this.#options.path}/${encodeURIComponent(name)}`;
  }
}

/** Its owner, or the annotation where the owner was removed: that edit is corrected, not trusted. */
function belongsTo({ metadata }: KubeObject, functionUid: string): boolean {
  if (metadata.ownerReferences?.some(({ uid }) => uid === functionUid) === true) return true;
  return (
    metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY &&
    metadata.annotations?.[FUNCTION_UID_ANNOTATION] === functionUid
  );
}

function isOfAnotherFunction({ metadata }: KubeObject): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return (
    metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY &&
    owner?.kind === 'Function' &&
    owner.apiVersion.startsWith('wherry.dev/')
  );
}

function isNewer(a: KubeObject, b: KubeObject): boolean {
  return BigInt(a.metadata.resourceVersion) > BigInt(b.metadata.resourceVersion);
}
