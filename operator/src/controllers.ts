import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import { displayName, type CodeSourceResource } from '@wherry/core/resources/kinds.ts';
import { secretOwner, type Caches } from './caches/caches.ts';
import type { TreeCache } from './content/tree-cache.ts';
import { createFunctionReconciler, type FunctionRooms } from './functions/reconcile-function.ts';
import { reconcileGroup } from './keys/reconcile-group.ts';
import type { KeyRecords } from './keys/key-records.ts';
import { reconcileKey } from './keys/reconcile-key.ts';
import { createController, createReconcileMetrics, type Controller } from './queue/controller.ts';
import { createSecretReconciler } from './secrets/reconcile-secret.ts';
import { createUndecryptable } from './secrets/undecryptable.ts';
import { reconcileSource } from './sources/reconcile-source.ts';

export interface ControllerRooms extends FunctionRooms {
  trees: TreeCache;
  keyRing: KeyRing;
  keyRecords: KeyRecords;
  logger: Logger;
  metrics: Metrics;
}

interface All {
  functions: Controller;
  sources: Controller;
  groups: Controller;
  keys: Controller;
  secrets: Controller;
}

/** All controllers, each fed by what it depends on. */
export interface Controllers extends All {
  /** A build of this handler has ended. */
  handlerBuilt(handler: string): void;
  start(): void;
  stop(): Promise<void>;
  idle(): Promise<void>;
}

export function createControllers(rooms: ControllerRooms): Controllers {
  const { caches } = rooms;
  const all = makeAll(rooms);
  const list = Object.values(all) as Controller[];
  feedFunctions(rooms, all.functions);
  caches.sources.onChange(all.sources.enqueue);
  caches.groups.onChange(all.groups.enqueue);
  caches.keys.onChange(all.keys.enqueue);
  caches.keysByGroup.onChange((_name, before, after) => [...before, ...after].forEach(all.groups.enqueue));
  caches.secrets.onChange(all.secrets.enqueue);
  feedSecrets(caches, all.secrets);
  return {
    ...all,
    handlerBuilt: (handler) => caches.functionsByHandler.names(handler).forEach((name) => all.functions.enqueue(name)),
    start: () => list.forEach((controller) => controller.start()),
    async stop() {
      await Promise.all(list.map((controller) => controller.stop()));
    },
    async idle() {
      await Promise.all(list.map((controller) => controller.idle()));
    },
  };
}

function makeAll(rooms: ControllerRooms): All {
  const { caches, clock, logger } = rooms;
  const shared = { clock, logger, metrics: createReconcileMetrics(rooms.metrics) };
  const undecryptable = createUndecryptable(rooms.metrics);
  const sealed = { ...rooms, undecryptable };
  const names = (informer: { list(): { metadata: { name: string } }[] }) => () => informer.list().map(({ metadata }) => metadata.name);
  return {
    functions: createController({ ...shared, name: 'function', reconcile: createFunctionReconciler(rooms), all: names(caches.functions) }),
    sources: createController({ ...shared, name: 'codesource', reconcile: (name) => reconcileSource(rooms, name), all: names(caches.sources) }),
    groups: createController({ ...shared, name: 'keygroup', reconcile: (name) => reconcileGroup(rooms, name), all: names(caches.groups) }),
    // What they decide rests on the object alone: without a change of it there is nothing to look at again.
    keys: createController({ ...shared, name: 'apikey', reconcile: (name) => reconcileKey(sealed, name), concurrency: 64 }),
    secrets: createController({ ...shared, name: 'functionsecret', reconcile: createSecretReconciler(sealed), all: names(caches.secrets) }),
  };
}

/** A function depends on its object, on who else wants its route, on sources, key groups, builds and workloads. */
function feedFunctions({ caches, builds }: ControllerRooms, functions: Controller): void {
  caches.functions.onChange(functions.enqueue);
  caches.functionsByShape.onChange((_name, before, after) => {
    for (const shape of new Set([...before, ...after])) caches.functionsByShape.names(shape).forEach(functions.enqueue);
  });
  caches.functionsByHandler.onChange((_name, before) => {
    for (const handler of before) if (caches.functionsByHandler.names(handler).size === 0) builds.forget(handler);
  });
  caches.groups.onChange((name) => caches.functionsByGroup.names(name).forEach(functions.enqueue));
  const before = new Map<string, CodeSourceResource>();
  caches.sources.onChange((name, source) => {
    const last = before.get(name);
    if (source === undefined) before.delete(name);
    else before.set(name, source);
    for (const changed of [last, source]) if (changed !== undefined) enqueueUsers(displayName(changed));
  });

  function enqueueUsers(source: string): void {
    for (const handler of caches.functionsByHandler.keys()) {
      if (builds.reaches(handler, source)) caches.functionsByHandler.names(handler).forEach(functions.enqueue);
    }
  }
}

/** Owners take their secrets with them. */
function feedSecrets(caches: Caches, secrets: Controller): void {
  const enqueue = (owner: string): void => caches.secretsByOwner.names(owner).forEach(secrets.enqueue);
  caches.functions.onChange((name, fn) => (fn === undefined ? enqueue(secretOwner({ scope: 'function', function: name })) : undefined));
  caches.groups.onChange((name, group) => (group === undefined ? enqueue(secretOwner({ scope: 'group', keyGroup: name })) : undefined));
  caches.keys.onChange((name, key) => (key === undefined ? enqueue(secretOwner({ scope: 'key', apiKey: name })) : undefined));
}
