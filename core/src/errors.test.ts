import { runInNewContext } from 'node:vm';
import { conflict, DomainError, invalid, isDomainError, notFound } from './errors.ts';

describe('isDomainError', () => {
  it.each([
    [notFound('There is no a.'), 'not_found' as const],
    [conflict('a exists.'), 'conflict' as const],
    [invalid('a is bad.', [{ path: 'a', message: 'is bad' }]), 'validation_failed' as const],
  ])('knows %s by its code', (error, code) => {
    expect(isDomainError(error)).toBe(true);
    expect(isDomainError(error, code)).toBe(true);
    expect(isDomainError(error, 'internal_error')).toBe(false);
  });

  it.each([
    [new Error('a')],
    [undefined],
    [null],
    ['not_found'],
    [{ name: 'DomainError', code: 'not_found' }],
    [runInNewContext('new Error("a")')],
  ])('does not take %p for one', (error) => {
    expect(isDomainError(error)).toBe(false);
  });

  it('keeps message and details', () => {
    const error = new DomainError('validation_failed', 'a is bad.', [{ path: 'cors.origins', message: 'is empty' }]);
    expect(error).toMatchObject({ message: 'a is bad.', details: [{ path: 'cors.origins', message: 'is empty' }] });
  });
});
