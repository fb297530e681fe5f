import type { RouterFunction } from '@wherry/core/feed/messages.ts';

type CorsRules = NonNullable<RouterFunction['cors']>;

/** The CORS headers of an answer or an error of a function with these rules, as a flat list. */
export function corsHeaders(rules: CorsRules | null, origin: string | undefined): string[] {
  if (rules === null) return [];
  const headers = allowOrigin(rules, origin);
  if (isAllowed(rules, origin) && rules.exposeHeaders.length > 0) {
    headers.push('Access-Control-Expose-Headers', rules.exposeHeaders.join(', '));
  }
  return headers;
}

/** What a preflight requests; undefined when the request is not a preflight. */
export function preflightMethod(
  method: string,
  origin: string | undefined,
  requestMethod: string | undefined,
): string | undefined {
  return method === 'OPTIONS' && origin !== undefined ? requestMethod : undefined;
}

/**
 * The headers of a preflight's 204; an origin that is not listed gets none that allow anything.
 * @param methods of all functions on the route.
 */
export function preflightHeaders(
  rules: CorsRules,
  origin: string | undefined,
  route: { methods: readonly string[]; guarded: boolean },
): string[] {
  const headers = allowOrigin(rules, origin);
  // The rules are those of the function for the requested method.
  headers.push('Vary', 'Access-Control-Request-Method');
  if (!isAllowed(rules, origin)) return headers;
  const allowed = ['Accept', 'Accept-Language', 'Content-Language', 'Content-Type', 'Range', 'Authorization'];
  if (route.guarded) allowed.push('X-API-Key');
  headers.push(
    'Access-Control-Allow-Methods',
    route.methods.join(', '),
    'Access-Control-Allow-Headers',
    unique([...allowed, ...rules.allowHeaders]).join(', '),
    'Access-Control-Max-Age',
    String(rules.maxAge),
  );
  return headers;
}

function allowOrigin(rules: CorsRules, origin: string | undefined): string[] {
  const headers: string[] = [];
  if (rules.origins.includes('*')) {
    headers.push('Access-Control-Allow-Origin', '*');
  } else {
    // The answer depends on the origin, also where it is not allowed or not given.
    headers.push('Vary', 'Origin');
    if (origin !== undefined && isAllowed(rules, origin)) headers.push('Access-Control-Allow-Origin', origin);
  }
  if (rules.credentials && isAllowed(rules, origin)) headers.push('Access-Control-Allow-Credentials', 'true');
  return headers;
}

function isAllowed(rules: CorsRules, origin: string | undefined): boolean {
  if (rules.origins.includes('*')) return true;
  if (origin === undefined) return false;
  const wanted = origin.toLowerCase();
  return rules.origins.some((listed) => listed.toLowerCase() === wanted);
}

/** Header names are the same in any case. */
function unique(names: readonly string[]): string[] {
  const seen = new Set<string>();
  return names.filter((name) => {
    const isNew = !seen.has(name.toLowerCase());
    seen.add(name.toLowerCase());
    return isNew;
  });
}
