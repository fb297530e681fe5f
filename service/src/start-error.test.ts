import { fatalMessage, StartError } from './start-error.ts';

describe('fatalMessage', () => {
  it('of a program that cannot start are one line', () => {
    expect(fatalMessage(new StartError('The port 9000 is taken: choose another one.', new Error('EADDRINUSE')))).toBe(
      'The port 9000 is taken: choose another one.',
    );
  });

  it('of a mistake of our own say where it is', () => {
    expect(fatalMessage(new TypeError('it is undefined'))).toMatch(
      /^TypeError: it is undefined\n +at .*start-error\.test\.ts/,
    );
    expect(fatalMessage('no error at all')).toBe('no error at all');
  });
});
