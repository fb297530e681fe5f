import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { NewResource, ResourceList, ResourceStore, WatchEvent } from '@wherry/core/ports/resource-store.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import { applyCreate, applyDelete, applyStatus, applyUpdate } from '@wherry/core/store-rules/transitions.ts';
import type { Change, Preconditions, WriteStamp } from '@wherry/core/store-rules/transitions.ts';
import { Bell, watchChanges } from '@wherry/core/store-rules/watch-changes.ts';
import { transaction } from '@wherry/service/transaction.ts';
import { ObjectTable } from './object-table.ts';
import { translateSqliteError } from './sqlite-error.ts';

/** A ResourceStore over an open database; `openSqliteStore` opens one. */
export class SqliteStore implements ResourceStore {
  readonly namespace: string;
  readonly #database: DatabaseSync;
  readonly #table: ObjectTable;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #bell = new Bell();

  constructor(
    database: DatabaseSync,
    { namespace, clock, history }: { namespace: string; clock: Pick<Clock, 'now'>; history: number },
  ) {
    this.namespace = namespace;
    this.#database = database;
    this.#table = new ObjectTable(database, { namespace, history });
    this.#clock = clock;
  }

  async get<K extends Kind>(kind: K, name: string): Promise<Resource<K> | undefined> {
    return attempt(() => this.#table.get(kind, name));
  }

  async list<K extends Kind>(kind: K): Promise<ResourceList<K>> {
    return attempt(() => ({ items: this.#table.list(kind), resourceVersion: String(this.#table.bounds().newest) }));
  }

  async create<K extends Kind>(object: NewResource<K>): Promise<Resource<K>> {
    return this.#write(object.kind, object.metadata.name, (current, stamp) => applyCreate(current, object, stamp));
  }

  async update<K extends Kind>(object: Resource<K>): Promise<Resource<K>> {
    return this.#write(object.kind, object.metadata.name, (current, stamp) => applyUpdate(current, object, stamp));
  }

  async updateStatus<K extends Kind>(object: Resource<K>): Promise<Resource<K>> {
    return this.#write(object.kind, object.metadata.name, (current, stamp) => applyStatus(current, object, stamp));
  }

  async delete(kind: Kind, name: string, preconditions?: Preconditions): Promise<void> {
    this.#write(kind, name, (current, stamp) => applyDelete(current, { kind, name, preconditions }, stamp));
  }

  watch<K extends Kind>(
    kind: K,
    options: { resourceVersion: string; signal: AbortSignal },
  ): AsyncIterable<WatchEvent<K>> {
    const log = {
      bounds: () => attempt(() => this.#table.bounds()),
      snapshot: () => attempt(() => ({ items: this.#table.list(kind), resourceVersion: this.#table.bounds().newest })),
      after: (resourceVersion: number) => attempt(() => this.#table.after(kind, resourceVersion)),
    };
    return watchChanges(log, this.#bell, options);
  }

  /** Running watches end with `unavailable`, as every later call does. */
  async close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
    this.#bell.ring();
  }

  /** One transaction: reads the object, computes the change, writes it. Nothing is awaited in between. */
  #write<K extends Kind>(
    kind: K,
    name: string,
    decide: (current: Resource<K> | undefined, stamp: WriteStamp) => Change<K> | undefined,
  ): Resource<K> {
    const written = attempt(() =>
      transaction(this.#database, () => {
        const current = this.#table.get(kind, name);
        const change = decide(current, this.#stamp());
        if (change !== undefined) this.#table.apply(change);
        return { change, object: change?.object ?? (current as Resource<K>) };
      }),
    );
    if (written.change !== undefined) this.#bell.ring();
    return written.object;
  }

  #stamp(): WriteStamp {
    const resourceVersion = String(this.#table.bounds().newest + 1);
    return { namespace: this.namespace, resourceVersion, uid: randomUUID(), now: this.#clock.now() };
  }
}

function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translateSqliteError(error);
  }
}
