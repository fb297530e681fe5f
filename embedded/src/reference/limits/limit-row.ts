import type { ErrorCode } from '@wherry/core/errors.ts';
import type { Reason } from '@wherry/core/resources/conditions.ts';
import { SETTINGS, type SettingDefinition, type SettingName } from '@wherry/core/settings-definitions.ts';
import { ERROR_ANSWERS } from '@wherry/manager/http/error-mapper.ts';
import { Refusal, type RefusalCode } from '@wherry/router/refusal.ts';
import { z } from 'zod';

/** One row of the page. */
export interface LimitRow {
  limit: string;
  value: string;
  change: string;
  beyond: string;
}

/** Writes a number with its unit. */
export type Format = (value: number) => string;

export const number: Format = (value) => value.toLocaleString('en-US');
const MIB = 1024 * 1024;

export const bytes: Format = (value) => {
  if (value >= 1024 * MIB && value % (1024 * MIB) === 0) return `${number(value / MIB / 1024)} GiB`;
  if (value >= MIB && value % MIB === 0) return `${number(value / MIB)} MiB`;
  return value >= 1024 && value % 1024 === 0 ? `${number(value / 1024)} KiB` : `${number(value)} bytes`;
};
export const mebibytes: Format = (value) => `${number(value)} MiB`;
export const characters: Format = (value) => `${number(value)} characters`;
export const days: Format = (value) => `${number(value)} days`;
export const seconds: Format = (value) => {
  if (value > 86_400 && value % 86_400 === 0) return days(value / 86_400);
  if (value >= 7200 && value % 3600 === 0) return `${number(value / 3600)} h`;
  return value >= 120 && value % 60 === 0 ? `${number(value / 60)} min` : `${number(value)} s`;
};
export const milliseconds: Format = (value) => (value < 1000 ? `${number(value)} ms` : seconds(value / 1000));

/** How the router answers, as `404 function_not_found`. */
export const refused = (code: RefusalCode): string => `${new Refusal(code).status} \`${code}\``;
/** How the management API answers. */
export const answered = (code: ErrorCode): string => `${ERROR_ANSWERS[code].status} \`${code}\``;
/** The condition of a function that does not become ready. */
export const notReady = (reason: Reason): string =>
  `The new revision does not become active: [condition](conditions.md) \`${reason}\``;

/** A limit that nothing changes. */
export const fixed = (limit: string, value: string, beyond: string): LimitRow => ({
  limit,
  value,
  change: 'fixed',
  beyond,
});

/** A setting with a range of numbers. */
export function ofSetting(limit: string, name: SettingName, format: Format, beyond: string): LimitRow {
  const { default: fallback, range }: SettingDefinition = SETTINGS[name];
  if (range === undefined) throw new Error(`The setting ${name} has no range`);
  const [min, max] = range;
  const change = `setting \`${name}\`: ${number(min)} to ${number(max)}`;
  return { limit, value: format(Number(fallback)), change, beyond };
}

/** A variable of a program's environment. */
export function ofVariable(
  limit: string,
  { environment, name, format }: { environment: z.ZodObject; name: string; format: Format },
  beyond: string,
): LimitRow {
  const bounds = boundsOf(environment, name);
  return { limit, value: format(defaultOf(bounds, name)), change: `variable \`${name}\`: ${rangeOf(bounds)}`, beyond };
}

interface Field {
  schema: z.ZodType;
  /** `scaling.minReplicas`. */
  field: string;
  /** Whose field it is. */
  of: string;
  format: Format;
  /** Where the schema has no number: what holds instead. */
  fallback?: string;
}

/** A field of a spec. */
export function ofField(limit: string, { schema, field, of, format, fallback }: Field, beyond: string): LimitRow {
  const bounds = boundsOf(schema, field);
  const value = fallback ?? format(defaultOf(bounds, field));
  return { limit, value, change: `field \`${field}\` of ${of}: ${rangeOf(bounds)}`, beyond };
}

/** The most that a schema takes of one of its fields: a number, or characters or entries. */
export function mostOf(schema: z.ZodType, field: string): number {
  const { maximum, maxLength, maxItems } = boundsOf(schema, field);
  const most = maximum ?? maxLength ?? maxItems;
  if (most === undefined) throw new Error(`${field} has no upper bound`);
  return most;
}

/** The characters that a schema takes of one of its fields. */
export function lengthsOf(schema: z.ZodType, field: string): string {
  const { minLength = 0 } = boundsOf(schema, field);
  return `${number(minLength)} to ${characters(mostOf(schema, field))}`;
}

interface Bounds {
  default?: unknown;
  minLength?: number;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  properties?: Record<string, Bounds>;
  anyOf?: Bounds[];
}

/** What the schema says about the field, as JSON Schema; of what may be null, about the rest. */
function boundsOf(schema: z.ZodType, field: string): Bounds {
  const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Bounds;
  return field.split('.').reduce<Bounds>((parent, name) => {
    const found = parent.properties?.[name];
    if (found === undefined) throw new Error(`There is no field ${field}`);
    return { ...found, ...found.anyOf?.[0] };
  }, whole);
}

function defaultOf(bounds: Bounds, field: string): number {
  if (typeof bounds.default !== 'number') throw new Error(`${field} has no default that is a number`);
  return bounds.default;
}

function rangeOf({ minimum, maximum }: Bounds): string {
  if (minimum === undefined || maximum === undefined) throw new Error('A field or variable has no range');
  return `${number(minimum)} to ${number(maximum)}`;
}
