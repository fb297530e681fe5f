import { nameSchema } from './resources/meta.ts';

/** One setting: its default, and what is wrong with a value (undefined: nothing). All values are strings. */
export interface SettingDefinition {
  default: string;
  check(value: string): string | undefined;
}

const text = (fallback: string, min: number, max: number): SettingDefinition => ({
  default: fallback,
  check: (value) => (value.length >= min && value.length <= max ? undefined : `must be ${min} to ${max} characters`),
});
const integer = (fallback: number, min: number, max: number): SettingDefinition => ({
  default: String(fallback),
  check: (value) =>
    /^\d{1,10}$/.test(value) && Number(value) >= min && Number(value) <= max
      ? undefined
      : `must be a whole number from ${min} to ${max}`,
});
const oneOf = (fallback: string, ...values: string[]): SettingDefinition => ({
  default: fallback,
  check: (value) => (values.includes(value) ? undefined : `must be one of ${values.join(', ')}`),
});

/** Every global setting, as the REST contract lists them. */
export const SETTINGS = {
  'server.name': text('Wherry', 1, 64),
  'log.level': oneOf('info', 'debug', 'info', 'warn', 'error', 'none'),
  'log.trimming.interval-seconds': integer(300, 1, 86_400),
  'log.trimming.max-per-function': integer(2000, 100, 100_000),
  'log.trimming.retention-seconds': integer(7_776_000, 0, 31_536_000),
  'log.batching.max-batch-size': integer(50, 1, 500),
  'log.batching.max-delay-ms': integer(50, 10, 5000),
  'metrics.aggregation-interval-seconds': integer(60, 10, 60),
  'metrics.retention-days': integer(90, 1, 365),
  'encryption.key-rotation.interval-days': integer(90, 1, 365),
  'encryption.key-rotation.check-interval-seconds': integer(10_800, 3600, 86_400),
  'encryption.key-rotation.batch-size': integer(100, 10, 1000),
  'encryption.key-rotation.batch-sleep-ms': integer(100, 0, 5000),
  'api.access-groups': {
    default: 'management',
    check: (value: string) =>
      accessGroups(value).every((group) => nameSchema.safeParse(group).success)
        ? undefined
        : 'must be key-group ids, comma-separated',
  },
  'files.max-size-bytes': integer(52_428_800, 1024, 524_288_000),
} as const satisfies Record<string, SettingDefinition>;
export type SettingName = keyof typeof SETTINGS;

/** The value in force: what is set and good, else the default. */
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
