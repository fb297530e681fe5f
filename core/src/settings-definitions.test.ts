import { accessGroups, SETTINGS, settingValue, type SettingName } from './settings-definitions.ts';

/** The table of the REST contract: default, the least and the largest value. */
const NUMBERS: [SettingName, string, number, number][] = [
  ['log.trimming.interval-seconds', '300', 1, 86_400],
  ['log.trimming.max-per-function', '2000', 100, 100_000],
  ['log.trimming.retention-seconds', '7776000', 0, 31_536_000],
  ['log.batching.max-batch-size', '50', 1, 500],
  ['log.batching.max-delay-ms', '50', 10, 5000],
  ['metrics.aggregation-interval-seconds', '60', 10, 60],
  ['metrics.retention-days', '90', 1, 365],
  ['audit.retention-days', '365', 1, 3650],
  ['encryption.key-rotation.interval-days', '90', 1, 365],
  ['encryption.key-rotation.check-interval-seconds', '10800', 3600, 86_400],
  ['encryption.key-rotation.batch-size', '100', 10, 1000],
  ['encryption.key-rotation.batch-sleep-ms', '100', 0, 5000],
  ['files.max-size-bytes', '52428800', 1024, 524_288_000],
];
const OTHERS: [SettingName, string][] = [
  ['server.name', 'Wherry'],
  ['log.level', 'info'],
  ['api.access-groups', 'management'],
];

const good = (name: SettingName, value: string): boolean => SETTINGS[name].check(value) === undefined;

describe('the settings', () => {
  it('are those of the REST contract, each with a good default', () => {
    expect(Object.keys(SETTINGS).sort()).toEqual([...NUMBERS, ...OTHERS].map(([name]) => name).sort());
    for (const [name, fallback] of [...NUMBERS, ...OTHERS]) {
      expect(SETTINGS[name].default).toBe(fallback);
      expect(good(name, fallback)).toBe(true);
    }
  });

  it.each(NUMBERS)('%s (%s) takes %d to %d', (name, _fallback, min, max) => {
    expect([min - 1, min, max, max + 1].map((value) => good(name, String(value)))).toEqual([false, true, true, false]);
    for (const value of ['', ' 100', '100 ', '1e2', '0x64', '100.0', '+100', '-100', 'NaN', 'ten', '1'.repeat(400)])
      expect(good(name, value)).toBe(false);
  });

  it.each<[SettingName, string, boolean]>([
    ['server.name', '', false],
    ['server.name', 'x'.repeat(64), true],
    ['server.name', 'x'.repeat(65), false],
    ['log.level', 'debug', true],
    ['log.level', 'none', true],
    ['log.level', 'INFO', false],
    ['log.level', 'trace', false],
    ['api.access-groups', '', true],
    ['api.access-groups', 'management, ops', true],
    ['api.access-groups', 'Not A Group', false],
  ])('%s = %j is good: %s', (name, value, expected) => {
    expect(good(name, value)).toBe(expected);
  });
});

describe('settingValue', () => {
  it.each([
    ['what is set', { 'log.level': 'warn' }, 'warn'],
    ['the default where nothing is set', {}, 'info'],
    ['the default where there are no values', undefined, 'info'],
    ['the default where what is set is bad', { 'log.level': 'loud' }, 'info'],
  ])('is %s', (_title, values, expected) => {
    expect(settingValue(values, 'log.level')).toBe(expected);
  });
});

it.each([
  ['', []],
  ['management', ['management']],
  [' a , b,,c ', ['a', 'b', 'c']],
])('accessGroups reads %j', (value, groups) => {
  expect(accessGroups(value)).toEqual(groups);
});
