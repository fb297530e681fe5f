import type { RouteSegment } from '@wherry/core/routes/route-pattern.ts';

const NONE: Record<string, string> = {};

/** The values of a matched route's parameters; `*` is the rest, joined by slashes, `""` when it is empty. */
export function pathParameters(route: readonly RouteSegment[], path: readonly string[]): Record<string, string> {
  if (route.every(({ kind }) => kind === 'literal')) return NONE;
  // Not `{}`: a route may be `/:__proto__`.
  const values = Object.create(null) as Record<string, string>;
  route.forEach((segment, index) => {
    if (segment.kind === 'parameter') values[segment.name] = path[index] ?? '';
    else if (segment.kind === 'rest') values['*'] = path.slice(index).join('/');
  });
  return values;
}
