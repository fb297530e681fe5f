import { OUTCOME_HEADER } from '@wherry/core/feed/invocation.ts';
import { isManagementCookie } from '@wherry/core/management-cookies.ts';
import { hopByHop } from './hop-by-hop.ts';
import { eachHeader } from '../headers/raw-headers.ts';

/** A function's response headers as the caller gets them. */
interface ResponseHeaders {
  headers: string[];
  /**
   * How the call ended according to the runtime: the handler threw, was too slow, or had no slot. `ok` where it reports
   * nothing.
   */
  outcome: 'ok' | 'error' | 'timeout' | 'full';
}

/**
 * Drops hop-by-hop headers (R4) and those that only the router may set: `X-Wherry-*`, `X-Request-Id`, and the CORS
 * headers where CORS is configured, the limits of a limited key. A function sets no cookie of the management port (R6):
 * its callers would act as whoever chose it. A 204 has no length.
 * @param own what the router adds.
 */
export function responseHeaders(
  rawHeaders: readonly string[],
  status: number,
  options: { own: readonly string[]; replacesCors: boolean; replacesLimits?: boolean },
): ResponseHeaders {
  const endsHere = hopByHop(rawHeaders);
  const headers: string[] = [];
  let outcome: ResponseHeaders['outcome'] = 'ok';
  eachHeader(rawHeaders, (lower, value, name) => {
    if (lower === OUTCOME_HEADER && (value === 'error' || value === 'timeout' || value === 'full')) outcome = value;
    if (endsHere(lower) || isNoFunctions(lower, value, options)) return;
    if (status === 204 && lower === 'content-length') return;
    headers.push(name, value);
  });
  headers.push(...options.own);
  return { headers, outcome };
}

/** Whether no function may set it. */
function isNoFunctions(
  lower: string,
  value: string,
  replaced: { replacesCors: boolean; replacesLimits?: boolean },
): boolean {
  if (lower === 'set-cookie') return isManagementCookie(value);
  if (lower.startsWith('x-wherry-') || lower === 'x-request-id') return true;
  if (replaced.replacesLimits === true && lower.startsWith('ratelimit-')) return true;
  return replaced.replacesCors && lower.startsWith('access-control-');
}
