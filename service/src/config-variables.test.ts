import { z } from 'zod';
import * as variables from './config-variables.ts';
import { loadConfig } from './config.ts';

type Name = keyof typeof variables;

/** How a program that reads the variable `V` takes the text. */
const take = (name: Name, text: string): unknown => {
  const schema: z.ZodType<{ V: unknown }> = z.object({ V: variables[name] as z.ZodType });
  return loadConfig(schema, { V: text }).V;
};

describe('the variables that programs share', () => {
  it.each<[Name, string, unknown]>([
    ['portVariable', '0', 0],
    ['portVariable', '65535', 65_535],
    ['urlVariable', 'http://127.0.0.1:4873/npm', 'http://127.0.0.1:4873/npm'],
    ['functionUrlVariable', 'https://functions.test//', 'https://functions.test'],
    ['feedAddressVariable', 'feed.system.svc:9443', 'feed.system.svc:9443'],
    ['lameDuckSecondsVariable', '2.5', 2.5],
    ['telemetryMebibytesVariable', '16', 16],
    ['logLevelVariable', 'silent', 'silent'],
    ['namespaceVariable', 'wherry-system', 'wherry-system'],
    ['releaseNameVariable', 'wherry-2', 'wherry-2'],
  ])('%s takes %s', (name, text, value) => {
    expect(take(name, text)).toBe(value);
  });

  it.each<[Name, string, string]>([
    ['portVariable', 'many', 'must be a port number'],
    ['portVariable', '80.5', 'must be a port number'],
    ['portVariable', '-1', 'must be at least 0'],
    ['portVariable', '65536', 'must be at most 65535'],
    ['urlVariable', 'ftp://files.test', 'must be an http or https URL'],
    ['functionUrlVariable', 'functions.test', 'must be the http or https URL where callers reach functions'],
    ['feedAddressVariable', 'feed', 'must be host:port'],
    ['lameDuckSecondsVariable', 'some', 'must be a number of seconds'],
    ['telemetryMebibytesVariable', '15', 'must be at least 16'],
    ['namespaceVariable', 'Wherry', 'must be the name of a namespace'],
    ['releaseNameVariable', 'wherry_2', 'must be lowercase letters, digits and dashes'],
  ])('%s refuses %s', (name, text, problem) => {
    expect(() => take(name, text)).toThrow(`The configuration is not valid: V: ${problem}`);
  });
});
