import { exitMessage } from './exit-message.ts';

describe('exitMessage', () => {
  it('says how it ended and shows its last lines, without control characters', () => {
    const output =
      Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n') + '\nError: \u001b[31mred\u001b[0m\r\n';
    const message = exitMessage({ code: 7, signal: null, output });
    expect(message.split('\n')).toHaveLength(13);
    expect(message.split('\n')[0]).toBe('The instance exited with code 7.');
    expect(message).toContain('Error: [31mred[0m');
    expect(message).not.toContain('line 18\n');
  });

  it('keeps the reason and drops the native stack behind it', () => {
    const output = 'FATAL ERROR: heap out of memory\n----- Native stack trace -----\n 1: 0xe3 node::OOM\n 2: 0x12\n';
    expect(exitMessage({ code: null, signal: 'SIGABRT', output })).toBe(
      'The instance aborted (SIGABRT), as it does when its heap is full.\nFATAL ERROR: heap out of memory',
    );
  });

  it.each([
    [{ code: null, signal: 'SIGKILL' as const, output: '' }, 'The instance was killed by SIGKILL.'],
    [
      { code: null, signal: null, output: '', error: new Error('spawn EAGAIN') },
      'The instance could not be started: spawn EAGAIN.',
    ],
  ])('says only what is known', (exit, message) => {
    expect(exitMessage(exit)).toBe(message);
  });
});
