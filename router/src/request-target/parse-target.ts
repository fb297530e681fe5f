import { Refusal } from '../refusal.ts';
import { ROUTER_LIMITS } from '../limits.ts';

/** A request target under `/run` that passed R1. */
export interface Target {
  /** The path as received, without `/run`; begins with `/`. What was authorised and is forwarded (R2). */
  path: string;
  /** As received, without the `?`; undefined when there is none. */
  query: string | undefined;
  /** The path's segments, percent-decoded once; one trailing slash is ignored. */
  segments: string[];
}

/**
 * What is never routable, whatever its purpose: `\`, fragments, controls, escapes of `/`, `\` and NUL, empty segments.
 */
const FORBIDDEN = /[^\x21-\x7e]|\\|%2f|%5c|%00|\/\//i;
/** `.` and `..`, alone or before a path parameter (`..;`), which some servers strip. */
const DOT_SEGMENT = /^\.\.?(?:;|$)/;

/**
 * Reads a raw request target of `/run` (R1). Only the path is checked: a query is data, and passes byte for byte.
 * Never `new URL(...)`: it rewrites `%2e%2e` and `//host`.
 * @returns undefined for a good path that is not under `/run`.
 */
export function parseTarget(raw: string): Target | Refusal | undefined {
  if (raw.length > ROUTER_LIMITS.targetBytes) return new Refusal('uri_too_long');
  // Absolute (`http://…`), authority (`host:port`) and asterisk form do not begin with a slash.
  if (!raw.startsWith('/')) return new Refusal('bad_target');
  const { whole, query } = split(raw);
  if (FORBIDDEN.test(whole) || raw.includes('#')) return new Refusal('bad_target');
  const segments = decodeSegments(whole);
  if (segments === undefined) return new Refusal('bad_target');
  if (!isRunPath(whole)) return undefined;
  return { path: whole.slice('/run'.length) || '/', query, segments: segments.slice(1) };
}

/** Whether a raw path (or target) is `/run` or below it, so that the rules of the function port hold. */
export function isRunPath(raw: string): boolean {
  if (!raw.startsWith('/run')) return false;
  const next = raw[4];
  return next === undefined || next === '/' || next === '?';
}

function split(raw: string): { whole: string; query: string | undefined } {
  const mark = raw.indexOf('?');
  return mark === -1 ? { whole: raw, query: undefined } : { whole: raw.slice(0, mark), query: raw.slice(mark + 1) };
}

function decodeSegments(path: string): string[] | undefined {
  const parts = path.slice(1).split('/');
  if (parts.at(-1) === '') parts.pop();
  for (let index = 0; index < parts.length; index++) {
    const part = decode(parts[index] ?? '');
    if (part === undefined || DOT_SEGMENT.test(part)) return undefined;
    parts[index] = part;
  }
  return parts;
}

function decode(part: string): string | undefined {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
