import { isDeepStrictEqual } from 'node:util';

/** How an object differs from what it should be. */
interface Difference {
  /** A desired value is missing or different: applying the object again corrects it. */
  differs: boolean;
  /** JSON pointers of surplus values, later ones of a list first. Applying removes none of them. */
  surplus: string[];
}

type Json = Record<string, unknown>;

/**
 * Compares an object with its desired state. Labels, annotations and owners that others add are theirs, on the object
 * and on a pod template; everything else besides the desired state is surplus. `status` is ignored.
 */
export function compareObject(desired: object, actual: object): Difference {
  const difference: Difference = { differs: false, surplus: [] };
  const { metadata, ...rest } = desired as { metadata?: Json } & Json;
  compareMetadata(metadata, (actual as Json)['metadata'], difference);
  for (const [name, value] of Object.entries(rest)) {
    if (name !== 'apiVersion' && name !== 'kind') compare(value, (actual as Json)[name], `/${name}`, difference);
  }
  difference.surplus.reverse();
  return difference;
}

function compareMetadata(desired: Json | undefined, actual: unknown, difference: Difference): void {
  const { labels, annotations, ownerReferences = [] } = (actual ?? {}) as Json;
  const wanted = desired ?? {};
  const owners = (wanted['ownerReferences'] ?? []) as Json[];
  const same =
    isWithin(wanted['labels'], labels) &&
    isWithin(wanted['annotations'], annotations) &&
    owners.every((owner) => (ownerReferences as Json[]).some((other) => isDeepStrictEqual(other, owner)));
  if (!same) difference.differs = true;
}

function isWithin(desired: unknown, actual: unknown): boolean {
  return Object.entries((desired ?? {}) as Json).every(([name, value]) => ((actual ?? {}) as Json)[name] === value);
}

function compare(desired: unknown, actual: unknown, pointer: string, difference: Difference): void {
  if (Array.isArray(desired) && Array.isArray(actual)) compareLists(desired, actual, pointer, difference);
  else if (isObject(desired) && isObject(actual)) compareObjects(desired, actual, pointer, difference);
  else if (!Object.is(desired, actual)) difference.differs = true;
}

function compareObjects(desired: Json, actual: Json, pointer: string, difference: Difference): void {
  for (const [name, value] of Object.entries(desired)) {
    if (value === undefined) continue;
    if (name === 'metadata') compareMetadata(value as Json, actual[name], difference);
    else compare(value, actual[name], `${pointer}/${escape(name)}`, difference);
  }
  for (const name of Object.keys(actual)) {
    if (desired[name] === undefined) difference.surplus.push(`${pointer}/${escape(name)}`);
  }
}

/** Items with a key are matched by it, as the API merges them; others by their index. */
function compareLists(desired: unknown[], actual: unknown[], pointer: string, difference: Difference): void {
  const found = new Set<number>();
  desired.forEach((item, index) => {
    const key = keyOf(item);
    const at = key === undefined ? index : actual.findIndex((other) => keyOf(other) === key);
    if (at === -1 || at >= actual.length) {
      difference.differs = true;
      return;
    }
    found.add(at);
    compare(item, actual[at], `${pointer}/${at}`, difference);
  });
  actual.forEach((_item, at) => {
    if (!found.has(at)) difference.surplus.push(`${pointer}/${at}`);
  });
}

function keyOf(item: unknown): string | undefined {
  if (!isObject(item)) return undefined;
  const key = item['mountPath'] ?? item['name'];
  return typeof key === 'string' ? key : undefined;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const escape = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
