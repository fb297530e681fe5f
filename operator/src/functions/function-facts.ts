import type { Reason } from '@wherry/core/resources/conditions.ts';
import type { RouteDecision } from '@wherry/core/resources/route-conflicts.ts';
import type { ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import type { FunctionResource } from '@wherry/core/resources/kinds.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';

/**
 * Which code a function should run, as far as is known. `unneeded`: not determined, because it runs nothing. `changed`:
 * the sources differ from those of the last verdict, as far as is known; an operator that has just started builds all
 * code again. `isEdit`: this operator knows the result of earlier code, which says nothing of the newest.
 */
export type Code =
  | { state: 'unneeded' }
  | { state: 'building'; changed: boolean; isEdit: boolean }
  | { state: 'found'; revision: Digest; pinned: boolean; origin: CodeOrigin | undefined }
  | { state: 'failed'; reason: Reason; message: string };

/** Where a revision came from: the source that holds the handler, and its tree. */
export interface CodeOrigin {
  source: string;
  sourceRevision: Digest;
}

/** A workload whose code could not be loaded: it is not retried until something else is desired. */
export interface Rejection {
  workload: string;
  reason: 'ExportError' | 'LoadError' | 'CrashLoop';
  message: string;
}

/** Everything that decides the state of a function; `decide-function.ts` uses nothing else. */
export interface FunctionFacts {
  fn: FunctionResource;
  /** Undefined for a function without a claim to any route. */
  route: RouteDecision | undefined;
  /** Key groups that it requires and that do not exist. */
  missingGroups: string[];
  code: Code;
  /** All workloads of this function. */
  workloads: ObservedWorkload[];
  /** Workloads of this function that were rejected before. */
  rejections: readonly Rejection[];
  /** Whether every router has applied the current state of the function's object. */
  routersKnow: boolean;
  /** Base of the function port's URLs, without a slash at its end. */
  functionUrl: string;
  now: number;
}
