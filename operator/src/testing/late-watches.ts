import type { ResourceStore, WatchEvent } from '@wherry/core/ports/resource-store.ts';
import type { Kind } from '@wherry/core/resources/kinds.ts';

/** A store whose watches can be held up, as those of an operator that lags behind. */
export function lateWatches(store: ResourceStore): { store: ResourceStore; hold(): void; release(): void } {
  let gate = Promise.withResolvers<void>();
  gate.resolve();

  async function* late(events: AsyncIterable<WatchEvent<Kind>>): AsyncGenerator<WatchEvent<Kind>, void> {
    for await (const event of events) {
      await gate.promise;
      yield event;
    }
  }

  const proxy = new Proxy(store, {
    get(target, property) {
      if (property === 'watch')
        return (kind: Kind, options: { resourceVersion: string; signal: AbortSignal }) =>
          late(target.watch(kind, options));
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return {
    store: proxy,
    hold: () => void (gate = Promise.withResolvers<void>()),
    release: () => gate.resolve(),
  };
}
