import { z } from 'zod';
import { loadConfig } from './config.ts';

const schema = z.object({
  PORT: z.coerce.number().int().max(65_535).default(8000),
  TOKEN: z
    .string()
    .regex(/^[a-z]+$/, 'must be lowercase letters')
    .optional(),
});

describe('loadConfig', () => {
  it('takes defaults for what is unset or empty', () => {
    expect(loadConfig(schema, { PORT: '', OTHER: 'x' })).toEqual({ PORT: 8000 });
  });

  it('names each bad variable, never its value', () => {
    const load = (): unknown => loadConfig(schema, { PORT: '70000', TOKEN: 'S3CRET' });
    expect(load).toThrow(/PORT: .*65535.*; TOKEN: must be lowercase letters/);
    expect(load).not.toThrow(/S3CRET/);
  });
});
