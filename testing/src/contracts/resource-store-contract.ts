import { concurrencyContract } from './resource-store-concurrency-contract.ts';
import { finalizerContract } from './resource-store-finalizer-contract.ts';
import { modelContract } from './resource-store-model-contract.ts';
import type { OpenedStore } from './resource-store-samples.ts';
import { validationContract } from './resource-store-validation-contract.ts';
import { watchContract } from './resource-store-watch-contract.ts';
import { writeContract } from './resource-store-write-contract.ts';

/**
 * What every ResourceStore does, be it in memory, on SQLite or over kube-apiserver: Kubernetes' own semantics.
 * `open` gives each test an empty store; `runs` is how many random histories the model test plays.
 */
export function resourceStoreContract(
  name: string,
  open: () => Promise<OpenedStore>,
  { runs = 60 }: { runs?: number } = {},
): void {
  describe(`${name} is a ResourceStore`, () => {
    let opened: OpenedStore;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    const store = () => opened.store;
    describe('reads and writes', () => writeContract(store));
    describe('validation', () => validationContract(store));
    describe('finalizers and deletion', () => finalizerContract(store));
    describe('watch', () => watchContract(store));
    describe('concurrency', () => concurrencyContract(store));
  });
  describe(`${name} against a model of a ResourceStore`, () => modelContract(open, runs));
}
