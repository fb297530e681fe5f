import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Workloads } from '@wherry/core/ports/workloads.ts';

/** How the chosen write goes wrong. */
export type Fault = 'refused' | 'answer lost' | 'killed after it' | 'killed before it';

const WRITES = new Set(['create', 'update', 'updateStatus', 'delete', 'put', 'collect', 'ensure', 'remove']);

/** Ports as one operator sees them; its writes are counted over all of them, and one goes wrong. */
interface FailingPorts {
  store: ResourceStore;
  content: ContentStore;
  workloads: Workloads;
  /** How many writes were tried. */
  count(): number;
  /** The operator was killed: nothing that it does has an effect any more. */
  killed(): boolean;
}

/** @param at which write goes wrong, from 1; 0 for none. */
export function failingPorts(
  real: { store: ResourceStore; content: ContentStore; workloads: Workloads },
  at: number,
  fault: Fault,
): FailingPorts {
  let count = 0;
  let dead = false;

  async function write(perform: () => Promise<unknown>): Promise<unknown> {
    count += 1;
    if (count !== at) return perform();
    dead = fault.startsWith('killed');
    if (fault === 'answer lost' || fault === 'killed after it') await perform();
    throw new Error(`injected: ${fault}`);
  }

  function wrap<T extends object>(port: T): T {
    return new Proxy(port, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (dead && property !== 'list' && property !== 'watch')
            return Promise.reject(new Error('this operator is dead'));
          const perform = (): Promise<unknown> => Reflect.apply(value, target, args) as Promise<unknown>;
          return WRITES.has(String(property)) ? write(perform) : perform();
        };
      },
    });
  }

  return {
    store: wrap(real.store),
    content: wrap(real.content),
    workloads: wrap(real.workloads),
    count: () => count,
    killed: () => dead,
  };
}
