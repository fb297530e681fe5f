import { Instance, type InstanceOptions } from './start-instance.ts';

export interface Instances {
  /** One that has loaded. */
  started(artifact: string, options?: Omit<InstanceOptions, 'artifact'>): Promise<Instance>;
  /** One that was not told to start yet. */
  created(artifact: string, options?: Omit<InstanceOptions, 'artifact'>): Instance;
  stopAll(): Promise<void>;
}

/** The instances of a test; `stopAll` ends them, whatever became of the test. */
export function useInstances(): Instances {
  const instances: Instance[] = [];
  const created: Instances['created'] = (artifact, options = {}) => {
    const instance = new Instance({ ...options, artifact });
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
