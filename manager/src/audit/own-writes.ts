import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';

/** States that are remembered: each is needed until the watch shows it. */
const MAX_REMEMBERED = 10_000;

/** Which states of objects this process has written. */
export interface OwnWrites {
  /** Resolves when no write of the object is under way: until then, nobody can say whose a new state is. */
  idle(kind: Kind, name: string): Promise<void>;
  wrote(uid: string, generation: number): boolean;
  deleted(uid: string): boolean;
}

/** The same store, which remembers what is written through it. */
export function followWrites(store: ResourceStore): { store: ResourceStore; own: OwnWrites } {
  const remembered = new Set<string>();
  const underWay = new Map<string, Set<Promise<unknown>>>();

  const remember = (uid: string, what: number | 'deleted'): void => {
    remembered.add(`${uid}/${what}`);
    const [oldest] = remembered;
    if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  };

  async function follow<T>(kind: Kind, name: string, write: Promise<T>, done: (result: T) => void): Promise<T> {
    const key = `${kind}/${name}`;
    const writes = underWay.get(key) ?? new Set();
    underWay.set(key, writes.add(write));
    try {
      const result = await write;
      done(result);
      return result;
    } finally {
      writes.delete(write);
      if (writes.size === 0) underWay.delete(key);
    }
  }

  const wroteResource = ({ metadata }: Resource): void => remember(metadata.uid, metadata.generation);
  return {
    store: {
      namespace: store.namespace,
      get: (kind, name) => store.get(kind, name),
      list: (kind) => store.list(kind),
      create: (object) => follow(object.kind, object.metadata.name, store.create(object), wroteResource),
      update: (object) => follow(object.kind, object.metadata.name, store.update(object), wroteResource),
      updateStatus: (object) => store.updateStatus(object),
      delete: (kind, name, preconditions) =>
        follow(kind, name, store.delete(kind, name, preconditions), () => {
          if (preconditions?.uid !== undefined) remember(preconditions.uid, 'deleted');
        }),
      watch: (kind, options) => store.watch(kind, options),
    },
    own: {
      async idle(kind, name) {
        for (let writes = underWay.get(`${kind}/${name}`); writes !== undefined;) {
          await Promise.allSettled(writes);
          writes = underWay.get(`${kind}/${name}`);
        }
      },
      wrote: (uid, generation) => remembered.has(`${uid}/${generation}`),
      deleted: (uid) => remembered.has(`${uid}/deleted`),
    },
  };
}
