import type { FieldLimits, FieldSet } from './field-set.ts';

/** One way in which a field may accept less than before: what it does, when it does. */
type Check = (before: FieldLimits, after: FieldLimits) => string | undefined;

const CHECKS: readonly Check[] = [
  (before, after) => (after.type === before.type ? undefined : `is of type ${after.type}, was ${before.type}`),
  (before, after) => (after.required === true && before.required !== true ? 'is required' : undefined),
  (before, after) => (before.nullable === true && after.nullable !== true ? 'may no longer be null' : undefined),
  (before, after) => lost('no longer accepts', before.enum, after.enum),
  ...(['minimum', 'minLength', 'minItems'] as const).map(
    (limit): Check =>
      (before, after) =>
        (after[limit] ?? -Infinity) > (before[limit] ?? floorOf(limit))
          ? grew(limit, before[limit], after[limit])
          : undefined,
  ),
  ...(['maximum', 'maxLength', 'maxItems'] as const).map(
    (limit): Check =>
      (before, after) =>
        (after[limit] ?? Infinity) < (before[limit] ?? Infinity) ? grew(limit, before[limit], after[limit]) : undefined,
  ),
  (before, after) =>
    after.pattern === undefined || after.pattern === before.pattern
      ? undefined
      : `has a different pattern: ${after.pattern}`,
  // If the list type changes, what an older client left by server-side apply means something else.
  (before, after) =>
    changed('x-kubernetes-list-type', before['x-kubernetes-list-type'], after['x-kubernetes-list-type']),
  (before, after) =>
    changed('x-kubernetes-list-map-keys', before['x-kubernetes-list-map-keys'], after['x-kubernetes-list-map-keys']),
  (before, after) => changed('default', before.default, after.default),
  (before, after) => lost('has the new rule', after.rules ?? [], before.rules ?? []),
];

/**
 * Compares what was accepted with what is.
 * @returns one line for each field that is gone, is new and required, or accepts less or means something else; none
 *   when every object that was valid still is
 */
export function narrowings(before: FieldSet, after: FieldSet): string[] {
  const kept = Object.entries(before).flatMap(([path, was]) => {
    const is = after[path];
    if (is === undefined) return [`${path} is gone`];
    return CHECKS.flatMap((check) => check(was, is) ?? []).map((problem) => `${path} ${problem}`);
  });
  const added = Object.entries(after).filter(
    ([path, is]) => before[path] === undefined && is.required === true && hasParent(path, before),
  );
  return [...kept, ...added.map(([path]) => `${path} is new and required`)];
}

/** A required field of a new object does not affect clients that do not write that object. */
function hasParent(path: string, before: FieldSet): boolean {
  return before[path.slice(0, path.lastIndexOf('.'))] !== undefined;
}

function floorOf(limit: 'minimum' | 'minLength' | 'minItems'): number {
  return limit === 'minimum' ? -Infinity : 0;
}

function grew(limit: string, before: number | undefined, after: number | undefined): string {
  return `has ${limit} ${after}, was ${before ?? 'none'}`;
}

function changed(what: string, before: unknown, after: unknown): string | undefined {
  const [was, is] = [before, after].map((value) => (value === undefined ? 'none' : JSON.stringify(value)));
  return was === is ? undefined : `has ${what} ${is}, was ${was}`;
}

/** The entries of the first list that the second lacks; a missing list lacks nothing. */
function lost(what: string, whole: string[] | undefined, rest: string[] | undefined): string | undefined {
  if (rest === undefined) return undefined;
  const missing = whole === undefined ? ['others'] : whole.filter((value) => !rest.includes(value));
  return missing.length === 0 ? undefined : `${what} ${missing.join(', ')}`;
}
