import { acceptRoutes, type RouteDecision } from '@wherry/core/resources/route-conflicts.ts';
import type { FunctionResource } from '@wherry/core/resources/kinds.ts';
import { isRoutePattern, routeShape } from '@wherry/core/routes/route-pattern.ts';
import type { Caches } from './caches.ts';

/**
 * Whether the function has its route, among all functions that are known now; undefined for one without a claim to a
 * route.
 */
export function routeOf(caches: Caches, fn: FunctionResource): RouteDecision | undefined {
  if (!isRoutePattern(fn.spec.route)) return undefined;
  const rivals = [...caches.functionsByShape.names(routeShape(fn.spec.route))].flatMap(
    (name) => caches.functions.get(name) ?? [],
  );
  return acceptRoutes(rivals).get(fn.metadata.name);
}
