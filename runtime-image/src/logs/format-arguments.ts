/** Bytes of text that a message, and its arguments, may take each; the rest is cut, and the entry says so. */
export const MAX_TEXT_LENGTH = 64 * 1024;

/** Levels of objects, and values of one argument, that are printed; what is deeper or follows is replaced. */
export const MAX_DEPTH = 8;
export const MAX_ITEMS = 1000;

type Masked = (text: string) => string;

/** The message of an entry: a text as it is, an error with its stack, anything else as JSON. */
export function formatMessage(value: unknown, mask: Masked): string {
  const text = messageText(value, mask);
  return text.length <= MAX_TEXT_LENGTH
    ? text
    : `${text.slice(0, MAX_TEXT_LENGTH)}… (truncated: ${text.length} characters)`;
}

/** The arguments after the first, as a JSON array; null when there are none. */
export function formatArguments(values: unknown[], mask: Masked): string | null {
  if (values.length === 0) return null;
  const json = toJson(values, mask);
  return json.length <= MAX_TEXT_LENGTH
    ? json
    : JSON.stringify([`(truncated: ${json.length} characters)`, json.slice(0, MAX_TEXT_LENGTH / 4)]);
}

function messageText(value: unknown, mask: Masked): string {
  if (typeof value === 'string') return mask(value);
  if (value instanceof Error) return mask(errorText(value));
  return typeof value === 'object' ? toJson(value, mask) : mask(scalar(value));
}

/** What is neither an object nor a text. */
function scalar(value: unknown): string {
  return typeof value === 'function' ? `[Function ${value.name}]` : String(value);
}

function toJson(value: unknown, mask: Masked): string {
  return JSON.stringify(plain(value, { mask, seen: new Set(), items: 0 }));
}

interface Walk {
  mask: Masked;
  /** The objects above, to find cycles. */
  seen: Set<object>;
  items: number;
}

/** A copy of the value that JSON can represent: cycles, throwing getters, BigInts and endless depth are handled. */
function plain(value: unknown, walk: Walk): unknown {
  if (typeof value === 'string') return walk.mask(value);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return primitive(value, walk.mask);
  if (typeof value === 'object') return object(value, walk);
  if (typeof value === 'undefined') return null;
  return walk.mask(scalar(value));
}

/** A number that spells a secret becomes a masked text. */
function primitive(value: number | boolean | null, mask: Masked): unknown {
  if (typeof value !== 'number') return value;
  const text = String(value);
  const masked = mask(text);
  return masked === text && Number.isFinite(value) ? value : masked;
}

function object(value: object, walk: Walk): unknown {
  if (walk.seen.has(value)) return '[Circular]';
  if (walk.seen.size >= MAX_DEPTH) return Array.isArray(value) ? '[Array]' : '[Object]';
  if (value instanceof Error) return walk.mask(errorText(value));
  walk.seen.add(value);
  try {
    return members(value, walk);
  } catch (error) {
    return walk.mask(`[Unreadable: ${error instanceof Error ? error.message : typeof error}]`);
  } finally {
    walk.seen.delete(value);
  }
}

function members(value: object, walk: Walk): unknown {
  const own = 'toJSON' in value && typeof value.toJSON === 'function' ? (value.toJSON as () => unknown)() : value;
  if (own !== value) return plain(own, walk);
  if (ArrayBuffer.isView(value)) return walk.mask(`[${value.constructor.name}: ${value.byteLength} bytes]`);
  if (value instanceof Map || value instanceof Set) return members([...value] as unknown[], walk);
  if (Array.isArray(value)) return bounded(value, walk).map((item) => plain(item, walk));
  const entries = bounded(Object.keys(value), walk).map((key) => [
    walk.mask(key),
    plain((value as Record<string, unknown>)[key], walk),
  ]);
  return Object.fromEntries(entries) as unknown;
}

function bounded<T>(items: T[], walk: Walk): T[] {
  const taken = items.slice(0, Math.max(0, MAX_ITEMS - walk.items));
  walk.items += taken.length;
  return taken;
}

/** The stack, which begins with name and message, and the causes below it. */
function errorText(error: Error): string {
  const lines: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    const text = current.stack ?? `${current.name}: ${current.message}`;
    lines.push(depth === 0 ? text : `[cause] ${text}`);
    current = current.cause;
  }
  return lines.join('\n');
}
