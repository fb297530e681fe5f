import { workloadName } from '@wherry/core/workload-name.ts';
import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';
import type { WorkloadSettings } from '../workloads/workload-settings.ts';

/** An installation as the chart makes it. */
export const TEST_SETTINGS: WorkloadSettings = {
  namespace: 'wherry-functions',
  name: 'wherry',
  image: 'wherry/runtime:0.1.0',
  imagePullPolicy: 'IfNotPresent',
  feedAddress: 'wherry-feed.wherry-system.svc:9443',
  lameDuckSeconds: 3,
};

/** A workload of the function `hello`; its name follows from the rest. */
export function testWorkload(changes: Partial<DesiredWorkload> = {}): DesiredWorkload {
  const functionName = changes.functionName ?? 'hello';
  const revision = changes.revision ?? 'ab'.repeat(32);
  const template = changes.template ?? { memoryMiB: 128, cpuMillis: null };
  return {
    name: workloadName(functionName, revision, template),
    functionName,
    functionUid: '6f2c1f5e-7d0b-4a5e-9f57-0d1c3f1f6a01',
    revision,
    template,
    replicas: 1,
    drainSeconds: 30,
    ...changes,
  };
}
