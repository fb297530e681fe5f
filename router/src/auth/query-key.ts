/** One `name=value` of a raw query. */
interface QueryPart {
  raw: string;
  name: string;
  value: string;
}

/** The parts of a raw query, decoded as forms are. */
export function queryParts(query: string): QueryPart[] {
  return query.split('&').map((raw) => {
    const mark = raw.indexOf('=');
    return mark === -1
      ? { raw, name: decode(raw), value: '' }
      : { raw, name: decode(raw.slice(0, mark)), value: decode(raw.slice(mark + 1)) };
  });
}

/**
 * The query without each part that holds one of the keys, however it is escaped (R6); the rest stays byte for byte.
 * @returns undefined when nothing is left.
 */
export function withoutKeys(query: string | undefined, keys: readonly string[]): string | undefined {
  if (query === undefined || keys.length === 0) return query;
  const parts = queryParts(query);
  const kept = parts.filter(({ raw }) => !holdsOneOf(raw, keys));
  if (kept.length === parts.length) return query;
  return kept.length === 0 ? undefined : kept.map((part) => part.raw).join('&');
}

function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return unescapedOnce(spaced);
  }
}

/** How often a text may have been escaped on its way, by proxies and frameworks; deeper escapes are not resolved. */
const LAYERS = 4;

/**
 * The text, and what it says with its escapes of ASCII characters resolved, once, twice and so on, whatever else is in
 * it: a key, which is ASCII, may be in any of them.
 */
export function readings(text: string): string[] {
  const all = [text];
  for (let last = text; all.length <= LAYERS && last.includes('%'); all.push(last)) {
    const next = unescapedOnce(last);
    if (next === last) break;
    last = next;
  }
  return all;
}

/** Whether the text contains one of the keys, escaped or not (R6). */
export const holdsOneOf = (text: string, keys: readonly string[]): boolean =>
  keys.length > 0 && readings(text).some((reading) => keys.some((key) => reading.includes(key)));

const unescapedOnce = (text: string): string =>
  text.replace(/%([0-7][0-9a-f])/gi, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
