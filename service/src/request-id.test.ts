import { requestIdOf } from './request-id.ts';

const NEW = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('requestIdOf', () => {
  it.each([
    ['of version 4', '0b19119b-01c4-47ba-ab69-621fcea74b4d'],
    ['of version 7', '0192f0c1-2345-7abc-8def-0123456789ab'],
    ["with Envoy's mark in the place of the version", '0b19119b-01c4-97ba-ab69-621fcea74b4d'],
    ['of nothing but zeros', '00000000-0000-0000-0000-000000000000'],
  ])('keeps a UUID %s', (_name, id) => {
    expect(requestIdOf(id)).toBe(id);
  });

  it('writes it in lower case', () => {
    expect(requestIdOf('0B19119B-01C4-47BA-AB69-621FCEA74B4D')).toBe('0b19119b-01c4-47ba-ab69-621fcea74b4d');
  });

  it.each([
    undefined,
    '',
    'not a uuid',
    '0b19119b01c447baab69621fcea74b4d',
    '0b19119b-01c4-47ba-ab69-621fcea74b4d\n',
    '0b19119b-01c4-47ba-ab69-621fcea74b4d, 0b19119b-01c4-47ba-ab69-621fcea74b4d',
  ])('makes a new one in place of %j', (given) => {
    const id = requestIdOf(given);
    expect(id).toMatch(NEW);
    expect(requestIdOf(given)).not.toBe(id);
  });
});
