import type { SQLInputValue } from 'node:sqlite';

type Condition<V> = readonly [text: string, ...values: V[]];

/** The WHERE clause of those conditions that have a value for each of their parameters; empty where none has. */
export function where(...conditions: readonly (Condition<SQLInputValue | undefined> | undefined)[]): {
  clause: string;
  values: SQLInputValue[];
} {
  const active = conditions.filter(hasAllValues);
  return {
    clause: active.length === 0 ? '' : `WHERE ${active.map(([text]) => text).join(' AND ')}`,
    values: active.flatMap(([, ...values]) => values),
  };
}

function hasAllValues(
  condition: Condition<SQLInputValue | undefined> | undefined,
): condition is Condition<SQLInputValue> {
  return condition !== undefined && !condition.includes(undefined);
}
