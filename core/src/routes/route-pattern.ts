/** One segment of a parsed route. A literal is percent-decoded. */
export type RouteSegment = { kind: 'literal'; value: string } | { kind: 'parameter'; name: string } | { kind: 'rest' };

const LITERAL = /^(?:[A-Za-z0-9\-._~!$&'()+,;=@]|%[0-9A-Fa-f]{2})+$/;
const PARAMETER = /^:([A-Za-z_][A-Za-z0-9_]*)$/;
/** Never routable (R1), so never part of a route. */
const FORBIDDEN_ESCAPE = /%(?:2f|5c|00)/i;

/**
 * Parses a route pattern of the REST contract: `/a/:b/*`.
 * @returns the segments, none for `/`.
 * @throws RangeError with a sentence that says what is wrong.
 */
export function parseRoute(pattern: string): RouteSegment[] {
  if (pattern.length > 512) throw new RangeError('must have at most 512 characters');
  if (!pattern.startsWith('/')) throw new RangeError('must begin with /');
  if (pattern === '/') return [];
  if (pattern.endsWith('/')) throw new RangeError('must not end with / (only / itself does)');
  const parts = pattern.slice(1).split('/');
  const segments = parts.map((part, index) => parseSegment(part, index === parts.length - 1));
  const names = segments.flatMap((segment) => (segment.kind === 'parameter' ? [segment.name] : []));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new RangeError(`must name each parameter once (:${twice} appears twice)`);
  return segments;
}

/** Whether `parseRoute` takes the pattern. */
export function isRoutePattern(pattern: string): boolean {
  return routeProblem(pattern) === undefined;
}

/** What is wrong with the pattern according to `parseRoute`, if anything. */
export function routeProblem(pattern: string): string | undefined {
  try {
    parseRoute(pattern);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * The route's identity: parameters without their names, so that `/users/:id` and `/users/:name` have one shape.
 * Two functions of one shape conflict when their methods overlap.
 */
export function routeShape(pattern: string): string {
  const shape = parseRoute(pattern).map((segment) => {
    if (segment.kind === 'parameter') return ':';
    // encodeURIComponent leaves * as it is: the literal %2A is not the rest.
    return segment.kind === 'rest' ? '*' : encodeURIComponent(segment.value).replaceAll('*', '%2A');
  });
  return `/${shape.join('/')}`;
}

function parseSegment(part: string, last: boolean): RouteSegment {
  if (part === '') throw new RangeError('must not contain an empty segment (//)');
  if (part === '*') {
    if (!last) throw new RangeError('may contain * only as its last segment');
    return { kind: 'rest' };
  }
  const parameter = PARAMETER.exec(part)?.[1];
  if (parameter !== undefined) return { kind: 'parameter', name: parameter };
  if (!LITERAL.test(part))
    throw new RangeError(`must consist of segments that are each a literal, a :parameter or *: ${part}`);
  if (FORBIDDEN_ESCAPE.test(part)) throw new RangeError(`must not contain %2F, %5C or %00: ${part}`);
  return { kind: 'literal', value: decodeLiteral(part) };
}

function decodeLiteral(part: string): string {
  let value: string;
  try {
    value = decodeURIComponent(part);
  } catch {
    throw new RangeError(`must contain only escapes that are valid UTF-8: ${part}`);
  }
  if (value === '.' || value === '..') throw new RangeError('must not contain . or .. segments');
  return value;
}
