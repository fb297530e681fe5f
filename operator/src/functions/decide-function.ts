import { setConditions } from '@wherry/core/resources/conditions.ts';
import type { FunctionStatus } from '@wherry/core/resources/function.ts';
import { activeOf, decideConditions } from './decide-conditions.ts';
import { decideRollout, readyInstances, type Rollout } from './decide-rollout.ts';
import type { FunctionFacts } from './function-facts.ts';

/** The decisions for a function: its workloads, and its whole status. Fields that are undefined are absent. */
export interface FunctionDecision {
  rollout: Rollout;
  status: { [F in keyof FunctionStatus]: FunctionStatus[F] | undefined };
  /** Names of workloads that no router needs any more. */
  remove: string[];
}

/** Decides everything about a function, only from facts. */
export function decideFunction(facts: FunctionFacts): FunctionDecision {
  const { fn, now, functionUrl, workloads } = facts;
  const { generation } = fn.metadata;
  const rollout = decideRollout(facts);
  const running = activeOf(facts, rollout);
  return {
    rollout,
    status: {
      ...fn.status,
      observedGeneration: generation,
      conditions: setConditions(fn.status.conditions, decideConditions(facts, rollout), { generation, now }),
      url: `${functionUrl}/run${fn.spec.route}`,
      activeRevision: rollout.active?.revision,
      shortRevision: rollout.active?.revision.slice(0, 12),
      activeWorkload: rollout.active?.workload,
      revisions: rollout.revisions,
      replicas: running?.replicas ?? 0,
      readyReplicas: readyInstances(running),
    },
    remove: facts.routersKnow ? workloads.map(({ name }) => name).filter((name) => !rollout.keep.has(name)) : [],
  };
}
