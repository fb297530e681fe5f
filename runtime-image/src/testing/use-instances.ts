import { TestInstance, type TestInstanceOptions } from './start-instance.ts';

interface Instances {
  /** One that has loaded. */
  started(artifact: string, options?: Omit<TestInstanceOptions, 'artifact'>): Promise<TestInstance>;
  /** One that has no start message yet. */
  created(artifact: string, options?: Omit<TestInstanceOptions, 'artifact'>): TestInstance;
  stopAll(): Promise<void>;
}

/** The instances of a test; `stopAll` ends them, whatever the outcome of the test. */
export function useInstances(): Instances {
  const instances: TestInstance[] = [];
  const created: Instances['created'] = (artifact, options = {}) => {
    const instance = new TestInstance({ ...options, artifact });
    instances.push(instance);
    return instance;
  };
  return {
    created,
    async started(artifact, options) {
      const instance = created(artifact, options);
      const outcome = await instance.start();
      if (outcome.type !== 'loaded') throw new Error(`it did not load: ${outcome.message}`);
      return instance;
    },
    async stopAll() {
      await Promise.all(instances.splice(0).map((instance) => instance.stop()));
    },
  };
}
