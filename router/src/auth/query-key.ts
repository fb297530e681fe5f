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
  const kept = parts.filter(({ name, value }) => !keys.some((key) => value.includes(key) || name.includes(key)));
  if (kept.length === parts.length) return query;
  return kept.length === 0 ? undefined : kept.map((part) => part.raw).join('&');
}

function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return unescaped(spaced);
  }
}

/** The text with each escape of an ASCII character resolved, whatever else is in it: enough to find a key, which is ASCII. */
export function unescaped(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(/%([0-7][0-9a-f])/gi, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
