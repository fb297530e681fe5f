import type { Logger } from '@wherry/core/ports/logger.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import { findCondition } from '@wherry/core/resources/conditions.ts';
import {
  displayName,
  type ApiKeyResource,
  type CodeSourceResource,
  type FunctionSecretResource,
} from '@wherry/core/resources/kinds.ts';
import { secretOwner, type Caches } from './informers/caches.ts';
import { onHolderChange } from './informers/on-holder-change.ts';
import type { TreeCache } from './content/trees.ts';
import type { RouterFeed } from './feed/router-feed.ts';
import { createFunctionReconciler, type FunctionDependencies } from './functions/reconcile-function.ts';
import { reconcileGroup } from './keys/reconcile-group.ts';
import type { KeyRecords } from './keys/key-records.ts';
import { isThere, reconcileKey } from './keys/reconcile-key.ts';
import { createController, type Controller, type ReconcileMetrics } from './controller/controller.ts';
import { reconcileSettings } from './settings/reconcile-settings.ts';
import { holderOf } from './secrets/secret-holder.ts';
import { createSecretReconciler } from './secrets/reconcile-secret.ts';
import type { Undecryptable } from './secrets/undecryptable.ts';
import { reconcileSource } from './sources/reconcile-source.ts';

export interface ControllerDependencies extends FunctionDependencies {
  trees: TreeCache;
  reader: ConfidentialReader;
  /** The Secrets that the reader follows. */
  referencedSecrets: ReferencedSecrets;
  /** The reader's keys. */
  keyRing: Pick<KeyRing, 'onChange'>;
  keyRecords: KeyRecords;
  routers: RouterFeed;
  undecryptable: Undecryptable;
  logger: Logger;
  reconcileMetrics: ReconcileMetrics;
}

interface All {
  functions: Controller;
  sources: Controller;
  groups: Controller;
  keys: Controller;
  secrets: Controller;
  settings: Controller;
}

/** All controllers, each fed by what it depends on. */
export interface Controllers extends All {
  /** Begins with a reconcile of every object in the caches, which are filled. */
  start(): void;
  stop(): Promise<void>;
  idle(): Promise<void>;
}

export function createControllers(dependencies: ControllerDependencies): Controllers {
  const all = makeAll(dependencies);
  const list = Object.values(all) as Controller[];
  const watching = new DisposableStack();
  for (const stop of [...enqueueFunctions(dependencies, all.functions), ...enqueueOthers(dependencies, all)])
    watching.defer(stop);
  return {
    ...all,
    start() {
      enqueueAll(dependencies, all);
      for (const controller of list) controller.start();
    },
    async stop() {
      watching.dispose();
      await Promise.all(list.map((controller) => controller.stop()));
    },
    async idle() {
      await Promise.all(list.map((controller) => controller.idle()));
    },
  };
}

/** The names of an informer's objects. */
const namesOf = (informer: { list(): { metadata: { name: string } }[] }): string[] =>
  informer.list().map(({ metadata }) => metadata.name);

function makeAll(dependencies: ControllerDependencies): All {
  const { caches, clock, logger } = dependencies;
  const shared = { clock, logger, metrics: dependencies.reconcileMetrics };
  const names = (informer: Parameters<typeof namesOf>[0]) => () => namesOf(informer);
  return {
    functions: createController({
      ...shared,
      name: 'function',
      reconcile: createFunctionReconciler(dependencies),
      all: names(caches.functions),
    }),
    sources: createController({
      ...shared,
      name: 'codesource',
      reconcile: (name) => reconcileSource(dependencies, name),
      all: names(caches.sources),
    }),
    groups: createController({
      ...shared,
      name: 'keygroup',
      reconcile: (name) => reconcileGroup(dependencies, name),
      all: names(caches.groups),
    }),
    // What they decide depends on the object, its group, its Secret, other keys of its value and its expiry, which it waits
    // for itself: a resync would find nothing else.
    keys: createController({
      ...shared,
      name: 'apikey',
      reconcile: (name) => reconcileKey(dependencies, name),
      concurrency: 64,
    }),
    secrets: createController({
      ...shared,
      name: 'functionsecret',
      reconcile: createSecretReconciler(dependencies),
      all: names(caches.secrets),
    }),
    settings: createController({
      ...shared,
      name: 'settings',
      reconcile: (name) => reconcileSettings(dependencies, name),
      all: names(caches.settings),
    }),
  };
}

/** Workloads of a deleted function are reconciled too: it may have been deleted while no operator led. */
function enqueueAll({ caches, observed }: ControllerDependencies, all: All): void {
  for (const name of [...namesOf(caches.functions), ...observed.functionNames()]) all.functions.enqueue(name);
  namesOf(caches.sources).forEach(all.sources.enqueue);
  namesOf(caches.groups).forEach(all.groups.enqueue);
  namesOf(caches.keys).forEach(all.keys.enqueue);
  namesOf(caches.secrets).forEach(all.secrets.enqueue);
  namesOf(caches.settings).forEach(all.settings.enqueue);
}

/**
 * A function depends on its object, on other functions that claim its route, on sources, key groups, builds and
 * workloads, and on what routers know of it.
 */
function enqueueFunctions(
  { caches, builds, workloads, routers }: ControllerDependencies,
  functions: Controller,
): (() => void)[] {
  const before = new Map<string, CodeSourceResource>(
    caches.sources.list().map((source) => [source.metadata.name, source]),
  );

  function enqueueUsers(source: string): void {
    for (const handler of caches.functionsByHandler.keys()) {
      if (builds.reaches(handler, source)) caches.functionsByHandler.names(handler).forEach(functions.enqueue);
    }
  }

  return [
    caches.functions.onChange(functions.enqueue),
    caches.functionsByShape.onChange((_name, was, is) => {
      for (const shape of new Set([...was, ...is])) caches.functionsByShape.names(shape).forEach(functions.enqueue);
    }),
    caches.functionsByHandler.onChange((_name, was) => {
      for (const handler of was) if (caches.functionsByHandler.names(handler).size === 0) builds.forget(handler);
    }),
    caches.groups.onChange((name) => caches.functionsByGroup.names(name).forEach(functions.enqueue)),
    caches.sources.onChange((name, source) => {
      const last = before.get(name);
      if (source === undefined) before.delete(name);
      else before.set(name, source);
      if (!hasOtherCode(last, source)) return;
      const changed = [last, source].flatMap((one) => (one === undefined ? [] : displayName(one)));
      for (const displayed of new Set(changed)) enqueueUsers(displayed);
    }),
    builds.onFinished((handler) => caches.functionsByHandler.names(handler).forEach(functions.enqueue)),
    workloads.watch((_name, functionName) => functions.enqueue(functionName)),
    routers.onKnown((names) => names.forEach(functions.enqueue)),
  ];
}

/**
 * Whether functions may get other code from a source, or another reason why they get none: they are built from its active
 * tree, and where it has none, its spec and its conditions say why.
 */
function hasOtherCode(last: CodeSourceResource | undefined, source: CodeSourceResource | undefined): boolean {
  if (last === undefined || source === undefined || last.metadata.uid !== source.metadata.uid) return true;
  const { tree } = source.status;
  return tree === undefined || tree !== last.status.tree || displayName(source) !== displayName(last);
}

/**
 * Groups count their keys; the status of secrets depends on their owner, and that of keys, secrets and sources on others
 * of their value or name.
 */
function enqueueOthers(
  { caches, referencedSecrets, keyRing, routers }: ControllerDependencies,
  { sources, groups, keys, secrets, settings }: All,
): (() => void)[] {
  const enqueue = (owner: string): void => caches.secretsByOwner.names(owner).forEach(secrets.enqueue);
  return [
    caches.sources.onChange(sources.enqueue),
    onHolderChange(caches.sourcesByName, (name) => caches.sourceNamed(name)?.metadata.name, sources.enqueue),
    caches.groups.onChange(groups.enqueue),
    caches.keys.onChange(keys.enqueue),
    routers.onKeyHolder((names) => names.forEach(keys.enqueue)),
    caches.keysByGroup.onChange((_name, before, after) => [...before, ...after].forEach(groups.enqueue)),
    caches.secrets.onChange(secrets.enqueue),
    onHolderChange(caches.secretsByPlace, (place) => holderOf(caches, place)?.metadata.name, secrets.enqueue),
    caches.settings.onChange(settings.enqueue),
    onComingAndGoing(caches, (group) => caches.keysByGroup.names(group).forEach(keys.enqueue)),
    caches.functions.onChange((name) => enqueue(secretOwner({ scope: 'function', function: name }))),
    caches.groups.onChange((name) => enqueue(secretOwner({ scope: 'group', keyGroup: name }))),
    caches.keys.onChange((name) => enqueue(secretOwner({ scope: 'key', apiKey: name }))),
    keyRing.onChange(() => {
      for (const [of, cache] of [
        [sources, caches.sources],
        [keys, caches.keys],
        [secrets, caches.secrets],
      ] as const)
        cache
          .list()
          .filter(isDegraded)
          .forEach(({ metadata }) => of.enqueue(metadata.name));
    }),
    referencedSecrets.onChange((secret) => {
      caches.keysByReference.names(secret).forEach(keys.enqueue);
      caches.secretsByReference.names(secret).forEach(secrets.enqueue);
    }),
  ];
}

/** It has a value that did not decrypt, which it may do with other keys. */
function isDegraded({ status }: CodeSourceResource | ApiKeyResource | FunctionSecretResource): boolean {
  return findCondition(status.conditions, 'Degraded') !== undefined;
}

/**
 * Calls back with the name of a key group that was created or deleted; it ignores the many other changes.
 */
function onComingAndGoing({ groups }: Caches, callback: (group: string) => void): () => void {
  const there = new Set(
    groups
      .list()
      .filter(isThere)
      .map(({ metadata }) => metadata.name),
  );
  return groups.onChange((name, group) => {
    if (there.has(name) === isThere(group)) return;
    if (isThere(group)) there.add(name);
    else there.delete(name);
    callback(name);
  });
}
