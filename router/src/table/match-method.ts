import type { RouteMatch, Routed } from './route-table.ts';

/** Who answers the method on a matched route; `HEAD` is answered through `GET` where only `GET` is listed. */
export function functionFor<T extends Routed>(match: RouteMatch<T>, method: string): T | undefined {
  const exact = match.functions.find((item) => item.methods.includes(method));
  if (exact !== undefined || method !== 'HEAD') return exact;
  return match.functions.find((item) => item.methods.includes('GET'));
}

/** The methods that the route answers, all of its functions together: the value of `Allow`. */
export function methodsOf(match: RouteMatch<Routed>): string[] {
  const methods = new Set(match.functions.flatMap((item) => [...item.methods]));
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}
