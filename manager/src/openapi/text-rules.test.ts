import { Ajv2020 } from 'ajv/dist/2020.js';
import { fc } from '@wherry/testing/properties.ts';
import type { z } from 'zod';
import { SETTINGS } from '@wherry/core/settings-definitions.ts';
import { filePathProblem } from '@wherry/core/trees/file-path.ts';
import { functionBodySchema } from '../functions/function-schemas.ts';
import { FILE_PATH } from '../http/patterns.ts';
import { logQuerySchema } from '../logs/log-schemas.ts';
import { settingsBodySchema } from '../settings/setting-schemas.ts';
import { sourceCreateSchema } from '../sources/source-schemas.ts';
import { JsonSchemas, type Json } from './json-schemas.ts';

const ajv = new Ajv2020({ strict: false });
const { name, handler, route } = functionBodySchema.shape;

/** Texts of a few pieces, which meet the rules' edges far more often than any text does. */
const textOf = (...pieces: string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...pieces), { maxLength: 7 }).map((parts) => parts.join(''));

const documented = (schema: z.ZodType): Json => new JsonSchemas().of(schema, 'input');
const takes = (schema: z.ZodType) => (text: string) => schema.safeParse(text).success;

const LONG = 'n'.repeat(64);
const RULES: [string, Json, (text: string) => boolean, fc.Arbitrary<string>][] = [
  [
    'a handler',
    documented(handler),
    takes(handler),
    textOf('code/', 'code', LONG, 'a', '/', '.', '..', '\\', '\0', '_', 'é', '😀'),
  ],
  [
    'a route',
    documented(route),
    takes(route),
    textOf(
      '/',
      '/',
      '/a',
      ':a',
      ':b',
      '/:a',
      '/*',
      '*',
      '.',
      '%2e',
      '%2F',
      '%5c',
      '%41',
      '%00',
      '%c3%a9',
      '%C0%80',
      '%ED%a0%80',
      '%f0%9F%98%80',
      '%',
      'é',
      ':',
    ),
  ],
  [
    'a name',
    documented(name),
    takes(name),
    textOf(' ', 'a', '\t', '\u0085', '\u202e', '\u200f', '😀'.repeat(21), 'é', '\u2069'),
  ],
  [
    'a file path',
    { type: 'string', ...FILE_PATH },
    (text) => filePathProblem(text) === undefined,
    textOf('/', 'a', 'c:', '.', '..', '.git', '.GIT', '\\', '\u007f', '\u061c', 'é'),
  ],
  [
    'the name of a source',
    documented(sourceCreateSchema.shape.name),
    takes(sourceCreateSchema.shape.name),
    textOf('code', 'a', '_', '-', LONG, '/', 'É'),
  ],
];

describe('the rules of the OpenAPI document', () => {
  it.each(RULES)('are those of the code for %s', (_name, schema, isAccepted, texts) => {
    const isDocumented = ajv.compile(schema);
    fc.assert(
      fc.property(texts, (text) => {
        expect([text, isDocumented(text)]).toEqual([text, isAccepted(text)]);
      }),
      { numRuns: 3000 },
    );
  });

  it('allow whole numbers of a query in their range', () => {
    const isDocumented = ajv.compile(documented(logQuerySchema.shape.limit));
    for (const limit of [-1, 0, 1, 7, 999, 1000, 1001, 1.5])
      expect([limit, isDocumented(limit)]).toEqual([limit, takes(logQuerySchema.shape.limit)(String(limit))]);
  });

  it.each(Object.entries(SETTINGS))('allow no value of %s that the service refuses', (setting, definition) => {
    const isDocumented = ajv.compile(documented(settingsBodySchema));
    const accepts = (value: string): boolean => isDocumented({ settings: { [setting]: value } });
    const [min, max] = 'range' in definition ? definition.range : [0, 64];
    const numbers = fc.constantFrom(min - 1, min, min + 1, max - 1, max, max + 1).map(String);
    const levels = fc.constantFrom('debug', 'none', 'trace', '', 'x'.repeat(64), 'x'.repeat(65), 'a, b');
    fc.assert(
      fc.property(fc.oneof(numbers, fc.integer({ min, max }).map(String), levels), (value) => {
        expect([value, accepts(value)]).toEqual([value, definition.check(value) === undefined]);
      }),
    );
    expect(accepts(definition.default)).toBe(true);
  });
});
