import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const KIT = JSON.stringify(import.meta.resolve('./run-program.ts'));
const START_ERROR = JSON.stringify(import.meta.resolve('./start-error.ts'));
const FAKE_CLOCK = JSON.stringify(import.meta.resolve('@wherry/testing/fakes/fake-clock.ts'));

/** A program of the text, in which `clock` stands still until it is advanced, and `say` sends this test something. */
class TestProgram {
  readonly child: ChildProcess;
  readonly said: string[] = [];
  readonly exited: Promise<unknown>;
  stderr = '';

  constructor(options: string) {
    const text = `
      import { FakeClock } from ${FAKE_CLOCK};
      import { runProgram } from ${KIT};
      import { StartError } from ${START_ERROR};
      const clock = new FakeClock();
      const say = (text) => process.send(text);
      const { promise: requested, resolve: request } = Promise.withResolvers();
      process.on('message', (message) => typeof message === 'number' ? clock.advance(message).then(() => say('advanced')) : request(message));
      process.on('SIGWINCH', () => say('still there'));
      runProgram({ name: 'wherry test', clock, ${options} });`;
    this.child = spawn(process.execPath, ['--input-type=module', '--eval', text], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.child.on('message', (message) => this.said.push(message as string));
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.exited = once(this.child, 'close').then(([code]) => code as unknown);
  }

  async until(text: string): Promise<void> {
    while (!this.said.includes(text))
      await Promise.race([
        once(this.child, 'message'),
        this.exited.then((code) => Promise.reject(new Error(`exit ${String(code)}: ${this.stderr}`))),
      ]);
    this.said.splice(this.said.indexOf(text), 1);
  }

  async advance(ms: number): Promise<void> {
    this.child.send(ms);
    await this.until('advanced');
  }

  /**
   * Signals it, and then with what it answers: by then it has had the first one, since the kernel gives the lower
   * number first.
   */
  async signal(name: NodeJS.Signals): Promise<void> {
    this.child.kill(name);
    this.child.kill('SIGWINCH');
    await this.until('still there');
  }
}

describe('runProgram', () => {
  const programs: TestProgram[] = [];
  afterEach(async () => {
    for (const { child, exited } of programs.splice(0)) {
      child.kill('SIGKILL');
      await exited;
    }
  });
  function run(options: string): TestProgram {
    const program = new TestProgram(options);
    programs.push(program);
    return program;
  }
  const NEVER_STOPS = `start: async () => (setImmediate(() => say('started')), { stop: (reason) => (say('stops: ' + reason), new Promise(() => {})) })`;

  it.each(['SIGTERM', 'SIGINT'] as const)('stops on %s and exits with 0', async (signal) => {
    const program = run(
      `start: async () => (setImmediate(() => say('started')), { stop: async (reason) => say('stops: ' + reason) })`,
    );
    await program.until('started');
    program.child.kill(signal);
    expect(await program.exited).toBe(0);
    expect(program.said).toEqual([`stops: ${signal}`]);
    expect(program.stderr).toBe('');
  });

  it('takes signals within a second for one request, and ends at once on a later one', async () => {
    const program = run(NEVER_STOPS);
    await program.until('started');
    await program.signal('SIGTERM');
    await program.until('stops: SIGTERM');
    await program.advance(1000);
    await program.signal('SIGINT');
    await program.signal('SIGTERM');
    await program.advance(1);
    program.child.kill('SIGINT');
    expect(await program.exited).toBe(1);
    expect(program.said).toEqual([]);
  });

  it('stopped while it starts, stops once it has started', async () => {
    const program = run(`start: async () => (say('starting'), await requested, { stop: async () => say('stops') })`);
    await program.until('starting');
    await program.signal('SIGTERM');
    program.child.send('go on');
    expect(await program.exited).toBe(0);
    expect(program.said).toEqual(['stops']);
  });

  it('may end while it starts', async () => {
    const program = run(`mayEndWhileStarting: true, start: async () => (say('starting'), new Promise(() => {}))`);
    await program.until('starting');
    program.child.kill('SIGTERM');
    expect(await program.exited).toBe(0);
  });

  it('may end by itself', async () => {
    const program = run(`start: async () => ({ ended: requested, stop: async (reason) => say('stops: ' + reason) })`);
    program.child.send('the feed has ended');
    expect(await program.exited).toBe(0);
    expect(program.said).toEqual(['stops: the feed has ended']);
  });

  it('exits with 1 where a stop takes too long', async () => {
    const program = run(`stopWithinMs: 25_000, ${NEVER_STOPS}`);
    await program.until('started');
    program.child.kill('SIGTERM');
    await program.until('stops: SIGTERM');
    await program.advance(24_999);
    program.child.send(1);
    expect(await program.exited).toBe(1);
  });

  it.each([
    [
      'a start that fails for a reason',
      `start: async () => { throw new StartError('THE_PORT: it is in use.'); }`,
      /^wherry test: THE_PORT: it is in use\.\n$/,
    ],
    [
      'a start that fails by our own mistake',
      `start: async () => { throw new TypeError('x is undefined'); }`,
      /^wherry test: TypeError: x is undefined\n +at /,
    ],
    [
      'a stop that fails',
      `start: async () => ({ ended: Promise.resolve(''), stop: async () => { throw new Error('stuck'); } })`,
      /^wherry test: Error: stuck\n/,
    ],
  ])('exits with 1 after %s, and says why', async (_what, options, words) => {
    const program = run(options);
    expect(await program.exited).toBe(1);
    expect(program.stderr).toMatch(words);
  });
});
