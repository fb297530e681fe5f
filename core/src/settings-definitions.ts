import { z } from 'zod';
import { inKubernetes } from './kubernetes-rule.ts';

/** One setting: its default, and what is wrong with a value (undefined: nothing). All values are strings. */
export interface SettingDefinition {
  /** What it does, as `docs/reference/settings.md` says it. */
  description: string;
  default: string;
  schema: z.ZodType<string, string>;
  /** Of a whole number: the least and the greatest. */
  range?: readonly [min: number, max: number];
  check(value: string): string | undefined;
}

const setting = (description: string, fallback: string, schema: z.ZodType<string, string>): SettingDefinition => ({
  description,
  default: fallback,
  schema,
  check: (value) => schema.safeParse(value).error?.issues[0]?.message,
});
const text = (description: string, fallback: string, min: number, max: number): SettingDefinition => {
  const message = `must be ${min} to ${max} characters`;
  const check = (value: string): boolean => [...value].length >= min && [...value].length <= max;
  const params = inKubernetes({ keywords: { minLength: min, maxLength: max } });
  const schema = z.string().refine(check, { message, params }).meta({ minLength: min, maxLength: max });
  return setting(description, fallback, schema);
};
const integer = (description: string, fallback: number, min: number, max: number): SettingDefinition => {
  const message = `must be a whole number from ${min} to ${max}`;
  const check = (value: string): boolean => /^\d{1,10}$/.test(value) && Number(value) >= min && Number(value) <= max;
  const cel = [{ cel: `self.matches('^[0-9]{1,10}$') && int(self) >= ${min} && int(self) <= ${max}` }];
  const schema = z.string().refine(check, { message, params: inKubernetes({ cel, keywords: { maxLength: 10 } }) });
  return { ...setting(description, String(fallback), schema), range: [min, max] };
};
const oneOf = (description: string, fallback: string, ...values: string[]): SettingDefinition =>
  setting(description, fallback, z.enum(values, `must be one of ${values.join(', ')}`));

/** Every global setting, as the REST contract lists them. */
export const SETTINGS = {
  'server.name': text(
    'The name of this installation: the title of the API document, which /api/docs shows.',
    'Wherry',
    1,
    64,
  ),
  'log.level': oneOf(
    'Log entries of handlers below this level are not kept.',
    'info',
    'debug',
    'info',
    'warn',
    'error',
    'none',
  ),
  'log.trimming.interval-seconds': integer('How often old log entries are removed.', 300, 1, 86_400),
  'log.trimming.max-per-function': integer(
    'How many of the newest log entries of each function are kept, and, counted separately, of its rejected calls (exec_reject).',
    2000,
    100,
    100_000,
  ),
  'log.trimming.retention-seconds': integer('Log entries older than this are removed.', 7_776_000, 0, 31_536_000),
  'log.batching.max-batch-size': integer('How many log entries are sent in one batch.', 50, 1, 500),
  'log.batching.max-delay-ms': integer('How long a log entry waits for a batch to fill.', 50, 10, 5000),
  'metrics.aggregation-interval-seconds': integer('How often metrics of calls are aggregated.', 60, 10, 60),
  'metrics.retention-days': integer('How long daily metrics are kept.', 90, 1, 365),
  'encryption.key-rotation.interval-days': integer(
    'How old an encryption key becomes before it is rotated.',
    90,
    1,
    365,
  ),
  'encryption.key-rotation.check-interval-seconds': integer(
    'How often the age of the encryption key is checked.',
    10_800,
    3600,
    86_400,
  ),
  'encryption.key-rotation.batch-size': integer('How many values are re-encrypted in one batch.', 100, 10, 1000),
  'encryption.key-rotation.batch-sleep-ms': integer(
    'How long the pause between two batches of re-encryption is.',
    100,
    0,
    5000,
  ),
  'audit.retention-days': integer('How long audit records are kept, in days.', 365, 1, 3650),
  'api.access-groups': setting(
    'Whose keys may use the management API. The REST API refuses a value without the group of the calling key.',
    'management',
    z
      .string()
      .max(4096)
      .regex(
        /^\s*([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\s*)?(,\s*([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\s*)?)*$/,
        'must be a comma-separated list of key-group ids',
      ),
  ),
  'files.max-size-bytes': integer('How large one uploaded file may be.', 52_428_800, 1024, 524_288_000),
} as const satisfies Record<string, SettingDefinition>;
export type SettingName = keyof typeof SETTINGS;

const isTimeZone = (value: string): boolean => {
  if (value === 'system') return true;
  try {
    return /^[A-Za-z]/.test(value) && new Intl.DateTimeFormat('en', { timeZone: value }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
};

/** Every setting of a user: each user has values of their own. */
export const USER_SETTINGS = {
  'ui.theme': oneOf('Whether pages are light or dark.', 'system', 'system', 'light', 'dark'),
  'ui.time-zone': setting(
    'In which time zone pages show times.',
    'system',
    z.string().max(64).refine(isTimeZone, 'must be system or a time zone such as Europe/Berlin'),
  ),
} as const satisfies Record<string, SettingDefinition>;

/** The active value: what is set and valid, else the default. */
export function settingValue(values: Record<string, string> | undefined, name: SettingName): string {
  const value = values?.[name];
  return value !== undefined && SETTINGS[name].check(value) === undefined ? value : SETTINGS[name].default;
}

/** The ids in a value of `api.access-groups`. */
export function accessGroups(value: string): string[] {
  return value
    .split(',')
    .map((group) => group.trim())
    .filter((group) => group !== '');
}
