import { oldest } from '@wherry/core/resources/age.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Confidential } from '@wherry/core/resources/confidential.ts';
import type { FunctionSecretSpec } from '@wherry/core/resources/function-secret.ts';
import { displayName, type CodeSourceResource, type Kind, type Resource } from '@wherry/core/resources/kinds.ts';
import { isRoutePattern, routeShape } from '@wherry/core/routes/route-pattern.ts';
import { createInformer, type Informer, type ListedStore } from '@wherry/service/informer.ts';
import { createNameIndex, type NameIndex } from './name-index.ts';

/** Everything that the store holds, in memory and indexed; current within moments. */
export interface Caches {
  readonly namespace: string;
  readonly functions: Informer<'Function'>;
  readonly sources: Informer<'CodeSource'>;
  readonly groups: Informer<'KeyGroup'>;
  readonly keys: Informer<'ApiKey'>;
  readonly secrets: Informer<'FunctionSecret'>;
  readonly settings: Informer<'Settings'>;
  /** Functions by `routeShape`, by handler, and by the key groups that they require. */
  readonly functionsByShape: NameIndex;
  readonly functionsByHandler: NameIndex;
  readonly functionsByGroup: NameIndex;
  /** Sources by display name. */
  readonly sourcesByName: NameIndex;
  readonly keysByGroup: NameIndex;
  /** Secrets by `secretOwner`, and by `secretPlace`. */
  readonly secretsByOwner: NameIndex;
  readonly secretsByPlace: NameIndex;
  /** Keys and secrets by the Kubernetes Secrets that their values refer to. */
  readonly keysByReference: NameIndex;
  readonly secretsByReference: NameIndex;
  /** The source of that display name, the oldest where there are several. */
  sourceNamed(name: string): CodeSourceResource | undefined;
  /** The newest resourceVersion of any kind. */
  resourceVersion(): string;
  /** Resolves when every cache reflects that state or a newer one. */
  reach(resourceVersion: string): Promise<void>;
  /** Resolves when every cache reflects the newest state of the store, even where that is an older one. */
  relist(): Promise<void>;
  /**
   * Calls back before a cache applies a list with an older state than one that was seen before: the store was restored.
   */
  onWentBack(callback: () => void): void;
  /** Resolves when every cache holds its first list. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** `<scope>/<name of the owner>`; the owner of global secrets has no name. */
export function secretOwner(spec: {
  scope: string;
  function?: string | undefined;
  keyGroup?: string | undefined;
  apiKey?: string | undefined;
}): string {
  return `${spec.scope}/${spec.function ?? spec.keyGroup ?? spec.apiKey ?? ''}`;
}

/** What only one secret can have: its owner, and the name by which handlers read it. */
export function secretPlace(spec: FunctionSecretSpec): string {
  return `${secretOwner(spec)}/${spec.name}`;
}

export function createCaches({ store, clock, logger }: { store: ResourceStore; clock: Clock; logger: Logger }): Caches {
  let wentBack = (): void => undefined;
  const resourceVersion = (): string => newest(all.map((informer) => informer.resourceVersion()));
  const observed = observeLists(store, resourceVersion, () => wentBack());
  const options = { store: observed, clock, logger };
  const functions = createInformer({ ...options, kind: 'Function' });
  const sources = createInformer({ ...options, kind: 'CodeSource' });
  const groups = createInformer({ ...options, kind: 'KeyGroup' });
  const keys = createInformer({ ...options, kind: 'ApiKey' });
  const secrets = createInformer({ ...options, kind: 'FunctionSecret' });
  const settings = createInformer({ ...options, kind: 'Settings' });
  const index = <K extends Kind>(
    informer: Informer<K>,
    keysOf: (object: Resource<K>) => readonly string[],
  ): NameIndex => createNameIndex(informer, keysOf, logger);
  const sourcesByName = index(sources, (source) => [displayName(source)]);
  const all: Pick<Informer<Kind>, 'start' | 'stop' | 'reach' | 'relist' | 'resourceVersion'>[] = [
    functions,
    sources,
    groups,
    keys,
    secrets,
    settings,
  ];

  return {
    namespace: store.namespace,
    functions,
    sources,
    groups,
    keys,
    secrets,
    settings,
    functionsByShape: index(functions, ({ spec }) => (isRoutePattern(spec.route) ? [routeShape(spec.route)] : [])),
    functionsByHandler: index(functions, ({ spec }) => [spec.handler]),
    functionsByGroup: index(functions, ({ spec }) => spec.keyGroups ?? []),
    sourcesByName,
    keysByGroup: index(keys, ({ spec }) => [spec.keyGroup]),
    secretsByOwner: index(secrets, ({ spec }) => [secretOwner(spec)]),
    secretsByPlace: index(secrets, ({ spec }) => [secretPlace(spec)]),
    keysByReference: index(keys, ({ spec }) => referencedSecrets(spec.value, spec.previousValue)),
    secretsByReference: index(secrets, ({ spec }) => referencedSecrets(spec.value)),
    sourceNamed: (name) => oldest([...sourcesByName.names(name)].flatMap((id) => sources.get(id) ?? [])),
    resourceVersion,
    async reach(resourceVersion) {
      await Promise.all(all.map((informer) => informer.reach(resourceVersion)));
    },
    async relist() {
      await Promise.all(all.map((informer) => informer.relist()));
    },
    onWentBack(callback) {
      wentBack = callback;
    },
    async start() {
      await Promise.all(all.map((informer) => informer.start()));
    },
    async stop() {
      await Promise.all(all.map((informer) => informer.stop()));
    },
  };
}

/**
 * A list is a consistent read: one that shows an older state than any seen before it began comes from a restored store.
 */
function observeLists(store: ResourceStore, seen: () => string, wentBack: () => void): ListedStore {
  return {
    watch: (kind, options) => store.watch(kind, options),
    async list(kind) {
      const before = seen();
      const list = await store.list(kind);
      // Other caches may have seen the restore meanwhile: then this list is not news.
      if ([before, seen()].every((version) => BigInt(list.resourceVersion) < BigInt(version))) wentBack();
      return list;
    },
  };
}

function referencedSecrets(...values: (Confidential | undefined)[]): readonly string[] {
  return values.flatMap((value) => value?.secretKeyRef?.name ?? []);
}

/** resourceVersions compare as integers, and a cluster's may be longer than a double holds. */
function newest(versions: string[]): string {
  return versions.reduce((a, b) => (BigInt(b) > BigInt(a) ? b : a), '0');
}
