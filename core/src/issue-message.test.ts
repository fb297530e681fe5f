import { z } from 'zod';
import { issueMessage } from './issue-message.ts';

describe('issueMessage', () => {
  it.each<[message: string, schema: z.ZodType, value: unknown]>([
    ['must be a number, not a string', z.number(), '5'],
    ['is required', z.string(), undefined],
    ['must be a string, not null', z.string(), null],
    ['must be a list, not an object', z.array(z.string()), {}],
    ['must be an object, not a list', z.record(z.string(), z.string()), []],
    ['must be a whole number', z.int(), 1.5],
    ['must be a number, not a string', z.int(), '1'],
    ['must be one of "a", "b"', z.enum(['a', 'b']), 'c'],
    ['must be "a"', z.literal('a'), 'c'],
    ['must not be empty', z.string().min(1), ''],
    ['must have at least 3 characters', z.string().min(3), 'a'],
    ['must have at most 3 characters', z.string().max(3), 'abcd'],
    ['must have at most 1 item', z.array(z.string()).max(1), ['a', 'b']],
    ['must be at least 5', z.number().min(5), 1],
    ['must be at most 5', z.number().max(5), 6],
    ['must be more than 0', z.number().positive(), 0],
    ['must be less than 5', z.number().lt(5), 5],
    ['is not valid', z.union([z.string(), z.number()]), true],
    ['is not a UUID', z.uuid(), 'x'],
    ['is not an IPv4 address', z.ipv4(), 'x'],
    ['must be a time such as 2026-01-31T12:00:00Z', z.iso.datetime(), 'x'],
    ['must contain a digit', z.string().regex(/\d/, 'must contain a digit'), 'x'],
    ['must be <a>/<b>, of 1 words', z.string().regex(/\d/, 'must be <a>/<b>, of 1 words'), 'x'],
  ])('%s', (message, schema, value) => {
    expect(issueMessage(schema.safeParse(value).error!.issues[0]!.message)).toBe(message);
  });
});
