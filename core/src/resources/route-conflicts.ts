import { byAge } from './age.ts';
import { findCondition } from './conditions.ts';
import type { Method } from './function.ts';
import type { FunctionResource } from './kinds.ts';
import { isRoutePattern, routeShape } from '../routes/route-pattern.ts';

/**
 * Whether a function has its route, or else the `metadata.name` of the one that has it, that one's route, and the
 * methods of both.
 */
export type RouteDecision = { accepted: true } | { accepted: false; holder: string; route: string; methods: Method[] };

/**
 * Decides who has which route. Functions of one shape conflict where their methods overlap; then the one that holds it
 * keeps it, else the older one has it, else the smaller name. A function is accepted with all of its methods
 * or not at all. HEAD and OPTIONS count only where they are listed.
 *
 * A disabled function keeps its claim: enabling it again must not fail because another function took the route
 * meanwhile. A function that is being deleted has no claim, and neither has one whose route cannot be parsed: both are
 * missing from the result.
 */
export function acceptRoutes(functions: readonly FunctionResource[]): Map<string, RouteDecision> {
  const decisions = new Map<string, RouteDecision>();
  const claims = functions.filter((fn) => hasClaim(fn) && isRoutePattern(fn.spec.route));
  for (const rivals of Map.groupBy(claims, (fn) => routeShape(fn.spec.route)).values()) {
    for (const [name, decision] of decide(rivals.sort(byRight))) decisions.set(name, decision);
  }
  return decisions;
}

/** @param rivals of one shape, the one with the best claim first. */
function decide(rivals: FunctionResource[]): [name: string, RouteDecision][] {
  const holders = new Map<Method, FunctionResource>();
  for (const fn of rivals) {
    if (fn.spec.methods.some((method) => holders.has(method))) continue;
    for (const method of fn.spec.methods) holders.set(method, fn);
  }
  return rivals.map((fn) => {
    const { methods } = fn.spec;
    const holder = methods.map((method) => holders.get(method)).find((other) => other !== undefined && other !== fn);
    if (holder === undefined) return [fn.metadata.name, { accepted: true }];
    const shared = methods.filter((method) => holders.get(method) === holder);
    const { metadata, spec } = holder;
    return [fn.metadata.name, { accepted: false, holder: metadata.name, route: spec.route, methods: shared }];
  });
}

/** A definition that is about to be written. `name` is the `metadata.name` of the function that it changes. */
interface RouteCandidate {
  name?: string;
  route: string;
  methods: readonly Method[];
}

/**
 * The function that a definition would conflict with; of several, the one with the best claim. The REST API refuses the
 * definition with 409 and names it. Disabled functions count.
 */
export function conflictingFunction(
  candidate: RouteCandidate,
  functions: readonly FunctionResource[],
): FunctionResource | undefined {
  const shape = routeShape(candidate.route);
  const depth = candidate.route.split('/').length;
  return (
    functions
      .filter((fn) => fn.metadata.name !== candidate.name && hasClaim(fn))
      .filter((fn) => fn.spec.methods.some((method) => candidate.methods.includes(method)))
      // Parsing thousands of routes is expensive: only routes with the same number of segments can have the same shape.
      .filter((fn) => fn.spec.route.split('/').length === depth && isRoutePattern(fn.spec.route))
      .filter((fn) => routeShape(fn.spec.route) === shape)
      .sort(byRight)[0]
  );
}

function hasClaim(fn: FunctionResource): boolean {
  return fn.metadata.deletionTimestamp === undefined;
}

function byRight(a: FunctionResource, b: FunctionResource): number {
  return holding(a) - holding(b) || byAge(a, b);
}

/**
 * 0 where the function holds the very route of its spec, 1 where it was accepted for an earlier spec, 2 where it never
 * was. So an edit of a function, even to another's route, takes nothing from the function that holds it; and an edit
 * that does not touch the route does not lose it to a function that waits for it.
 */
function holding(fn: FunctionResource): 0 | 1 | 2 {
  const condition = findCondition(fn.status.conditions, 'RouteAccepted');
  if (condition?.status !== 'True') return 2;
  return condition.observedGeneration === fn.metadata.generation ? 0 : 1;
}
