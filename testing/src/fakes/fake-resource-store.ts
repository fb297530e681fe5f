import { randomUUID } from 'node:crypto';
import { DomainError } from '@wherry/core/errors.ts';
import type { NewResource, ResourceList, ResourceStore, WatchEvent } from '@wherry/core/ports/resource-store.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import { applyCreate, applyDelete, applyStatus, applyUpdate } from '@wherry/core/store-rules/transitions.ts';
import type { Change, Preconditions, WriteStamp } from '@wherry/core/store-rules/transitions.ts';
import { Bell, watchChanges } from '@wherry/core/store-rules/watch-changes.ts';

type StoreOperation = 'get' | 'list' | 'create' | 'update' | 'updateStatus' | 'delete' | 'watch';

/** A ResourceStore in memory, with levers for the faults that a real one has. */
export class FakeResourceStore implements ResourceStore {
  readonly namespace: string;
  /** How often something was in fact written: the measure of "a reconcile of an unchanged object writes nothing". */
  writes = 0;
  readonly #clock: { now(): number };
  readonly #objects = new Map<string, Resource>();
  readonly #failures = new Map<StoreOperation, Error[]>();
  readonly #bell = new Bell();
  #changes: Change[] = [];
  #oldest = 1;
  #newest = 1;
  /** Replaced at each drop; a watch belongs to the line on which it began. */
  #line: { lost?: Error } = {};

  constructor({
    namespace = 'wherry',
    clock = { now: () => Date.UTC(2026, 0, 1) },
  }: { namespace?: string; clock?: { now(): number } } = {}) {
    this.namespace = namespace;
    this.#clock = clock;
  }

  /** The next call of the operation rejects with the error (a watch: at its first step); several queue up. */
  failNext(operation: StoreOperation, error: Error = unavailable()): void {
    this.#failures.set(operation, [...(this.#failures.get(operation) ?? []), error]);
  }

  /** Forgets all history: running watches, and new ones from an older state, end with `Expired:`. */
  expireWatches(): void {
    this.#newest += 1;
    this.#oldest = this.#newest;
    this.#changes = [];
    this.#bell.ring();
  }

  /** Breaks every running watch, as a lost connection does; a new one can go on from where it was. */
  dropWatches(error: Error = unavailable()): void {
    this.#line.lost = error;
    this.#line = {};
    this.#bell.ring();
  }

  async get<K extends Kind>(kind: K, name: string): Promise<Resource<K> | undefined> {
    this.#fail('get');
    return structuredClone(this.#current(kind, name));
  }

  async list<K extends Kind>(kind: K): Promise<ResourceList<K>> {
    this.#fail('list');
    return { items: this.#all(kind), resourceVersion: String(this.#newest) };
  }

  async create<K extends Kind>(object: NewResource<K>): Promise<Resource<K>> {
    this.#fail('create');
    const change = applyCreate(this.#current(object.kind, object.metadata.name), object, this.#stamp());
    return this.#write(change);
  }

  async update<K extends Kind>(object: Resource<K>): Promise<Resource<K>> {
    this.#fail('update');
    const current = this.#current(object.kind, object.metadata.name);
    return this.#write(applyUpdate(current, object, this.#stamp()), current);
  }

  async updateStatus<K extends Kind>(object: Resource<K>): Promise<Resource<K>> {
    this.#fail('updateStatus');
    const current = this.#current(object.kind, object.metadata.name);
    return this.#write(applyStatus(current, object, this.#stamp()), current);
  }

  async delete(kind: Kind, name: string, preconditions?: Preconditions): Promise<void> {
    this.#fail('delete');
    const current = this.#current(kind, name);
    this.#write(applyDelete(current, { kind, name, preconditions }, this.#stamp()), current);
  }

  async *watch<K extends Kind>(
    kind: K,
    options: { resourceVersion: string; signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<K>, void> {
    this.#fail('watch');
    const line = this.#line;
    const log = {
      bounds: () => {
        if (line.lost !== undefined) throw line.lost;
        return { oldest: this.#oldest, newest: this.#newest };
      },
      snapshot: () => ({ items: this.#all(kind), resourceVersion: this.#newest }),
      after: (version: number) => this.#changesAfter(kind, version),
    };
    yield* watchChanges(log, this.#bell, options);
  }

  #write<K extends Kind>(change: Change<K> | undefined, current?: Resource<K>): Resource<K> {
    if (change === undefined) return structuredClone(current) as Resource<K>;
    const { kind, metadata } = change.object;
    if (change.type === 'deleted') this.#objects.delete(key(kind, metadata.name));
    else this.#objects.set(key(kind, metadata.name), structuredClone(change.object));
    this.#changes.push(structuredClone(change));
    this.#newest = Number(metadata.resourceVersion);
    this.writes += 1;
    this.#bell.ring();
    return structuredClone(change.object);
  }

  #current<K extends Kind>(kind: K, name: string): Resource<K> | undefined {
    return this.#objects.get(key(kind, name)) as Resource<K> | undefined;
  }

  #all<K extends Kind>(kind: K): Resource<K>[] {
    const items = [...this.#objects.values()].filter((object) => object.kind === kind) as Resource<K>[];
    return structuredClone(items.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)));
  }

  #changesAfter<K extends Kind>(kind: K, version: number): Change<K>[] {
    const first =
      this.#changes.findLastIndex((change) => Number(change.object.metadata.resourceVersion) <= version) + 1;
    return structuredClone(this.#changes.slice(first).filter((change) => change.object.kind === kind)) as Change<K>[];
  }

  #stamp(): WriteStamp {
    return {
      namespace: this.namespace,
      resourceVersion: String(this.#newest + 1),
      uid: randomUUID(),
      now: this.#clock.now(),
    };
  }

  #fail(operation: StoreOperation): void {
    const error = this.#failures.get(operation)?.shift();
    if (error !== undefined) throw error;
  }
}

function key(kind: Kind, name: string): string {
  return `${kind}/${name}`;
}

function unavailable(): DomainError {
  return new DomainError('unavailable', 'The store cannot be reached');
}
