import type { ObservedWorkload, Workloads } from '@wherry/core/ports/workloads.ts';

/** What runs, by function. */
export interface ObservedWorkloads {
  of(functionName: string): ObservedWorkload[];
  functionNames(): string[];
}

/** Reads the whole list at most once after each change. */
export function observeWorkloads(workloads: Workloads): ObservedWorkloads & { stop(): void } {
  let byFunction: Map<string, ObservedWorkload[]> | undefined;
  const stop = workloads.watch(() => {
    byFunction = undefined;
  });
  const current = (): Map<string, ObservedWorkload[]> => {
    byFunction ??= Map.groupBy(workloads.list(), (workload) => workload.functionName);
    return byFunction;
  };
  return {
    of: (functionName) => current().get(functionName) ?? [],
    functionNames: () => [...current().keys()],
    stop,
  };
}
