import { lastWords, StartError } from './start-error.ts';

describe('lastWords', () => {
  it('of a program that cannot start are one line', () => {
    expect(lastWords(new StartError('The port 9000 is taken: choose another one.', new Error('EADDRINUSE')))).toBe(
      'The port 9000 is taken: choose another one.',
    );
  });

  it('of a mistake of our own say where it is', () => {
    expect(lastWords(new TypeError('it is undefined'))).toMatch(
      /^TypeError: it is undefined\n +at .*start-error\.test\.ts/,
    );
    expect(lastWords('no error at all')).toBe('no error at all');
  });
});
