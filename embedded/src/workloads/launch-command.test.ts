import { launchCommand } from './launch-command.ts';

const options = {
  node: '/run/w/node',
  bundle: '/run/w/runtime.mjs',
  temporaryFolder: '/run/w/i/a/tmp',
  memoryMiB: 128,
  setpriv: '/usr/bin/setpriv',
  timeZone: 'Europe/Berlin',
};

describe('launchCommand', () => {
  it('S1: the environment is the documented list and nothing else', () => {
    expect(launchCommand(options).env).toEqual({
      NODE_ENV: 'production',
      TZ: 'Europe/Berlin',
      TMPDIR: '/run/w/i/a/tmp',
    });
  });

  it('runs node under setpriv where there is one, with only its own folder to read', () => {
    const { command, args } = launchCommand(options);
    expect([command, ...args.slice(0, 6)]).toEqual([
      '/usr/bin/setpriv',
      '--pdeathsig',
      'KILL',
      '--no-new-privs',
      '--',
      '/run/w/node',
      '--permission',
    ]);
    expect(args.filter((arg) => arg.startsWith('--allow'))).toEqual([
      '--allow-fs-read=/run/w/i/a/tmp/',
      '--allow-fs-write=/run/w/i/a/tmp/',
    ]);
    expect(args).toContain('--no-experimental-sqlite');
    expect(args.at(-1)).toBe('/run/w/runtime.mjs');
    expect(launchCommand({ ...options, setpriv: undefined }).command).toBe('/run/w/node');
  });

  it.each([
    [64, 32, 4],
    [128, 96, 8],
    [8192, 8160, 16],
  ])('leaves room beside the heap: %i MiB', (memoryMiB, oldSpace, semiSpace) => {
    const { args } = launchCommand({ ...options, memoryMiB });
    expect(args).toContain(`--max-old-space-size=${oldSpace}`);
    expect(args).toContain(`--max-semi-space-size=${semiSpace}`);
  });
});
