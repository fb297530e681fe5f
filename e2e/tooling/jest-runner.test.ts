import { exec, execFile, execFileSync, execSync, fork, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually } from '../testing/api-client.ts';
import { announceCluster } from './announced-cluster.ts';
import { root, toolEnvironment } from './run-command.ts';

/** What jest said of these test files, run by themselves. Not in the repository, as nothing that a test starts. */
async function jest(files: Record<string, string>, environment?: NodeJS.ProcessEnv): Promise<string> {
  const running = start(files, environment);
  try {
    await once(running.process, 'close');
    return running.output();
  } finally {
    running.remove();
  }
}

function start(
  files: Record<string, string>,
  environment: NodeJS.ProcessEnv = {},
): { process: ChildProcess; output: () => string; remove: () => void } {
  // Beside the parts, whose files other tests list and read meanwhile.
  const folder = mkdtempSync(path.join(root, 'tmp-'));
  for (const [name, code] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), code);
  }
  const args = ['--projects', root, '--ci', '--colors=false', '--testPathPatterns', folder];
  const child = spawn('jest', args, {
    env: { ...toolEnvironment(), ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (text: Buffer) => (output += text.toString()));
  return { process: child, output: () => output, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Nobody may have reaped it. */
function hasEnded(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return true;
  }
}

const GOOD = "it('passes', () => { expect(1).toBe(1); });";

describe('a run', () => {
  it.each([
    [
      'a rejection that nobody handles',
      "it('x', async () => { void Promise.reject(new Error('nobody')); await new Promise((r) => setTimeout(r, 500)); });",
      'code 1',
    ],
    ['an exit in the middle', "it('x', () => { process.exit(0); });", 'code 0'],
    [
      'a signal',
      "it('x', async () => { process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}); });",
      'SIGKILL',
    ],
  ])(
    'goes on after %s, and says which file it was',
    async (...[, code, said]) => {
      const output = await jest({ 'a.test.ts': GOOD, 'b.test.ts': code, 'c.test.ts': GOOD, 'd.test.ts': GOOD });
      expect(output).toContain(`The process of the tests ended (${said}).`);
      expect(output).toMatch(/FAIL .*b\.test\.ts/);
      expect(output).toContain('Test Suites: 1 failed, 3 passed, 4 total');
    },
    60_000,
  );

  it('leaves no process that a test started and did not end', async () => {
    const code = (end: string): string => `import { spawn } from 'node:child_process';
      it('x', async () => { process.stderr.write('pid ' + spawn('sleep', ['1000']).pid + '\\n'); ${end} });`;
    const output = await jest({ 'a.test.ts': code(''), 'b.test.ts': code('process.exit(0);'), 'c.test.ts': GOOD });
    const pids = [...output.matchAll(/^pid (\d+)$/gm)].map(([, pid]) => Number(pid));
    expect(pids).toHaveLength(2);
    await eventually(() => expect(pids.map(hasEnded)).toEqual([true, true]));
  }, 60_000);

  it('leaves no process when it is killed itself', async () => {
    const running = start({
      'a.test.ts': `import { spawn } from 'node:child_process';
      it('x', async () => { process.stderr.write('pid ' + spawn('sleep', ['1000']).pid + '\\n'); await new Promise(() => {}); });`,
    });
    try {
      await eventually(() => expect(running.output()).toMatch(/^pid \d+$/m), 60_000);
      const pid = Number(/^pid (\d+)$/m.exec(running.output())?.[1]);
      expect(hasEnded(pid)).toBe(false);
      running.process.kill('SIGKILL');
      await eventually(() => expect(hasEnded(pid)).toBe(true), 60_000);
    } finally {
      running.process.kill('SIGKILL');
      running.remove();
    }
  }, 120_000);

  it('gives the cluster to one suite at a time, beside the other files, and to no other file', async () => {
    const code = (name: string, wait = ''): string => `it('x', async () => {
      const say = (what: string) => process.stderr.write(\`ran \${what} ${name} \${process.env.WHERRY_TEST_CLUSTER}\\n\`);
      say('begin');
      ${wait}
      say('end');
    });`;
    // Two files that end only when both have begun.
    const meets = (
      own: string,
      other: string,
    ): string => `const { existsSync, writeFileSync } = await import('node:fs');
      const mark = (of: string) => import.meta.dirname.replace(/.cluster-suites$/, '') + '/began-' + of;
      writeFileSync(mark('${own}'), '');
      while (!existsSync(mark('${other}'))) await new Promise((resolve) => setTimeout(resolve, 10));`;
    const output = await jest(
      {
        'cluster-suites/a.test.ts': code('a', meets('a', 'c')),
        'cluster-suites/b.test.ts': code('b'),
        'c.test.ts': code('c', meets('c', 'a')),
      },
      { WHERRY_TEST_CLUSTER: 'one' },
    );
    const ran = [...output.matchAll(/^ran (.*)$/gm)].map(([, said]) => said);
    expect(ran.filter((said) => said?.endsWith('one'))).toEqual([
      'begin a one',
      'end a one',
      'begin b one',
      'end b one',
    ]);
    expect(ran.filter((said) => !said?.endsWith('one'))).toEqual(['begin c undefined', 'end c undefined']);
    expect(output).toContain('Tests:       3 passed, 3 total');
  }, 60_000);

  it('runs other files while the cluster comes up, and gives its suites the one that is announced then', async () => {
    const file = path.join(process.cwd(), 'cluster');
    const code = (
      act = '',
    ): string => `const { announceCluster } = await import('${path.join(root, 'e2e/tooling/announced-cluster.ts')}');
      it('x', () => { ${act} process.stderr.write(\`ran \${process.env.WHERRY_TEST_CLUSTER}\\n\`); });`;
    const files = { 'cluster-suites/a.test.ts': code(), 'b.test.ts': code(`announceCluster('${file}', 'two');`) };
    const output = await jest(files, { WHERRY_TEST_CLUSTER_FILE: file });
    expect([...output.matchAll(/^ran (.*)$/gm)].map(([, said]) => said)).toEqual(['undefined', 'two']);
  }, 60_000);

  it('fails the suites of a cluster that could not be brought up, and runs the other files', async () => {
    const file = path.join(process.cwd(), 'no-cluster');
    announceCluster(file, undefined);
    const output = await jest(
      { 'cluster-suites/a.test.ts': GOOD, 'b.test.ts': GOOD },
      { WHERRY_TEST_CLUSTER_FILE: file },
    );
    expect(output).toMatch(/FAIL .*a\.test\.ts[^]*The cluster did not come up\./);
    expect(output).toContain('Test Suites: 1 failed, 1 passed, 2 total');
  }, 60_000);

  it('reports a failure with what only the process itself can hold', async () => {
    const code =
      "it('x', () => { const e: any = new Error('odd one'); e.self = e; e.big = 1n; e.call = () => 1; throw e; });";
    expect(await jest({ 'a.test.ts': code })).toMatch(/odd one[^]*Tests: +1 failed, 1 total/);
  }, 60_000);
});

describe('a hook that fails', () => {
  /**
   * Of each test its title and outcome, as jest prints them, and what the code printed in lines that begin with `ran`.
   */
  async function outcome(code: string): Promise<{ failed: number; passed: number; ran: string[]; output: string }> {
    const output = await jest({
      'a.test.ts': `const say = (what: string): void => void process.stderr.write(\`ran \${what}\\n\`);\n${code}`,
    });
    const count = (word: string): number => Number(new RegExp(`^Tests: .*?(\\d+) ${word}`, 'm').exec(output)?.[1] ?? 0);
    return {
      failed: count('failed'),
      passed: count('passed'),
      ran: [...output.matchAll(/^ran (.+)$/gm)].map(([, what]) => what ?? ''),
      output,
    };
  }

  it('before all: its tests fail with its error, none runs, and what cleans up does', async () => {
    const { failed, passed, ran, output } = await outcome(`
      let folder: string | undefined;
      beforeAll(() => { say('first hook'); throw new Error('the port is taken'); });
      beforeAll(() => say('second hook'));
      beforeEach(() => say('before each'));
      afterEach(() => say('after each'));
      afterAll(() => say('clean up'));
      it('a', () => say('a'));
      describe('inner', () => {
        beforeAll(() => say('inner hook'));
        afterAll(() => say('inner clean up'));
        it.each([1, 2])('b %i', () => say('b'));
      });`);
    expect({ failed, passed, ran }).toEqual({ failed: 3, passed: 0, ran: ['first hook', 'clean up'] });
    expect(output).toContain('beforeAll failed, so this test was not run: Error: the port is taken');
  }, 60_000);

  it('before all of a block: the tests beside the block run', async () => {
    const { failed, passed, ran } = await outcome(`
      it('a', () => say('a'));
      describe('inner', () => {
        beforeAll(() => new Promise(() => undefined), 100);
        it('b', () => say('b'));
        describe('innermost', () => { it('c', () => say('c')); });
      });
      it('d', () => say('d'));`);
    expect({ failed, passed, ran }).toEqual({ failed: 2, passed: 2, ran: ['a', 'd'] });
  }, 60_000);

  it('before each: the test fails and does not run, its clean-up does, and the next one gets its chance', async () => {
    const { failed, passed, ran } = await outcome(`
      let count = 0;
      beforeEach(() => { count++; if (count === 1) throw 'no error, but thrown'; });
      beforeEach(() => say('second hook'));
      afterEach(() => say('after'));
      describe('inner', () => {
        beforeEach(() => say('inner hook'));
        afterEach(() => say('inner after'));
        it('a', () => say('a'));
        it('b', () => say('b'));
      });`);
    expect({ failed, passed }).toEqual({ failed: 1, passed: 1 });
    expect(ran).toEqual(['inner after', 'after', 'second hook', 'inner hook', 'b', 'inner after', 'after']);
  }, 60_000);

  it('after each: the test fails, with its own error too', async () => {
    const { failed, passed, output } = await outcome(`
      afterEach(() => { throw new Error('left over'); });
      it('a', () => { throw new Error('its own'); });
      it('b', () => undefined);`);
    expect({ failed, passed }).toEqual({ failed: 2, passed: 0 });
    expect(output).toMatch(/a[^]*its own[^]*left over[^]*b[^]*left over/);
  }, 60_000);

  it('after all: a failure of the file', async () => {
    const { failed, passed } = await outcome(
      "afterAll(() => { throw new Error('left over'); }); it('a', () => undefined);",
    );
    expect({ failed, passed }).toEqual({ failed: 1, passed: 1 });
  }, 60_000);

  it('runs no hook of a block whose tests were not chosen', async () => {
    const { ran } = await outcome(`
      describe('left out', () => { beforeAll(() => say('hook')); afterAll(() => say('clean up')); it.skip('a', () => say('a')); });
      it('b', () => say('b'));`);
    expect(ran).toEqual(['b']);
  }, 60_000);
});

describe('a test that starts a process in the repository', () => {
  const inRoot = { cwd: root };
  const message = /A test starts no process in the repository/;

  it.each<[string, () => unknown]>([
    ['spawn', () => spawn('true', inRoot)],
    ['fork', () => fork('x.js', inRoot)],
    ['exec', () => exec('true', inRoot)],
    ['execFile', () => execFile('true', inRoot)],
    ['spawnSync', () => spawnSync('true', [], inRoot)],
    ['execSync', () => execSync('true', inRoot)],
    ['execFileSync', () => execFileSync('true', inRoot)],
    ['a shell', () => spawn('npm ci', { ...inRoot, shell: true })],
    ["a part's folder", () => spawn('npm', ['ci'], { cwd: path.join(root, 'core') })],
    ['a URL', () => spawn('npm', ['ci'], { cwd: pathToFileURL(`${root}/`) })],
  ])('is refused: %s', (_how, start) => {
    expect(start).toThrow(message);
  });

  it('is not where it names no folder: its own is an empty one, whatever an earlier test did', () => {
    expect(execFileSync('pwd', { encoding: 'utf8' }).trim()).toBe(process.cwd());
    expect(path.relative(root, process.cwd())).toMatch(/^\.\./);
    const before = process.cwd();
    process.chdir(root);
    try {
      expect(() => execFileSync('pwd')).toThrow(message);
    } finally {
      process.chdir(before);
    }
  });
});
