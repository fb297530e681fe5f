import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, send } from '../testing/api-client.ts';
import { followPage } from '../testing/follow-page.ts';
import { blocksOf, commandsOf, MENTIONED_PORTS, onPorts, type Block } from '../testing/page-blocks.ts';
import { Shell } from '../testing/shell.ts';

/*
 * The README as a newcomer follows it: its commands as they are written, in their order, in a copy of this repository
 * that has nothing but its files, with npm ci for real. Only the ports are others than it names: the service gets free
 * ones, whoever listens on those of the README.
 */

const ROOT = join(import.meta.dirname, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** npm ci takes half a minute, and many times that where much else runs. */
const INSTALL_MS = 10 * 60_000;

const blocks = blocksOf(README);

let folder: string;
let first: ChildProcess;
let second: Shell;
let printed = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-readme-'));
  await copyRepository(folder);
}, 60_000);

afterAll(async () => {
  second?.close();
  await stopService();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** By the pid in its lock file: `first` is a shell. */
async function stopService(): Promise<number | null> {
  const lock = join(folder, 'data/wherry.lock');
  if (existsSync(lock)) process.kill((JSON.parse(readFileSync(lock, 'utf8')) as { pid: number }).pid, 'SIGTERM');
  else if (first?.pid !== undefined && first.exitCode === null) process.kill(-first.pid, 'SIGKILL');
  if (first !== undefined && first.exitCode === null && first.signalCode === null) await once(first, 'exit');
  return first?.exitCode ?? null;
}

/** What a clone of the present state would hold. */
async function copyRepository(target: string): Promise<void> {
  const { stdout } = await promisify(execFile)('git', ['-C', ROOT, 'ls-files', '-coz', '--exclude-standard'], {
    maxBuffer: 1 << 26,
  });
  for (const path of stdout.split('\0')) {
    if (path !== '' && existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(target, path));
  }
}

/**
 * A newcomer's environment: nothing of the npm and the Node that run these tests, and nothing that steers the service.
 */
function newcomer(): Record<string, string> {
  const ours =
    /^(npm_(?!config_(registry|cache|userconfig)$)|INIT_CWD|NODE_(ENV|OPTIONS)|JEST_|WHERRY_|(FUNCTION|MANAGEMENT)_(PORT|HOST)|TRUSTED_PROXIES)/i;
  const kept = Object.entries(process.env).flatMap(([name, value]) =>
    ours.test(name) || value === undefined ? [] : [[name, value] as const],
  );
  const path = (process.env.PATH ?? '').split(':').filter((entry) => !entry.includes('node_modules'));
  return {
    ...Object.fromEntries(kept),
    PATH: path.join(':'),
    FUNCTION_HOST: '127.0.0.1',
    FUNCTION_PORT: '0',
    MANAGEMENT_PORT: '0',
  };
}

/** The URL of a port as the service printed it, without its path. */
function printedUrl(listener: 'Functions' | 'Management'): string {
  const found = new RegExp(`^ {2}${listener}:\\s+http://(localhost:\\d+)/`, 'm').exec(printed)?.[1];
  if (found === undefined) throw new Error(`no URL for ${listener} in what the service printed:\n${printed}`);
  return found;
}

/** The commands of a block, with the ports that the service has here. */
const ourCommands = (block: Block): string[] => commandsOf(block).map((command) => onPorts(command, ourHosts()));

const ourHosts = (): { functions: string; management: string } => ({
  functions: printedUrl('Functions'),
  management: printedUrl('Management'),
});

describe('the README', () => {
  it(
    'begins with one command that installs and starts the service',
    async () => {
      const [install] = blocks;
      expect(install).toMatchObject({ language: 'sh', text: 'npm ci && npm start' });
      first = spawn('bash', ['-c', install!.text], {
        cwd: folder,
        env: newcomer(),
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      for (const stream of [first.stdout!, first.stderr!])
        stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      await eventually(() => {
        if (first.exitCode !== null) throw new Error(`it ended with ${first.exitCode}:\n${printed}`);
        expect(printed).toContain('Wherry is ready');
      }, INSTALL_MS);
      // Also where npm runs on a Node.js that is too old for some packages: they run on the pinned one.
      expect(printed).not.toContain('EBADENGINE');
      expect(printed).toMatch(/^ {2}Functions:\s+http:\/\/localhost:\d+\/run\//m);
      expect(printed).toMatch(/^ {2}Management:\s+http:\/\/localhost:\d+\/api\//m);
      const docs = /^ {2}API docs:\s+(http:\S+)$/m.exec(printed)?.[1];
      expect((await send(docs!)).text).toContain('Wherry management API');
    },
    INSTALL_MS + 30_000,
  );

  it('names the ports that a service has by default, and no other', () => {
    const config = readFileSync(join(ROOT, 'docs/reference/config.md'), 'utf8');
    const byDefault = (name: string): number =>
      Number(new RegExp(`^\\| \`${name}\` \\| \`(\\d+)\` \\|`, 'm').exec(config)?.[1]);
    expect({ functions: byDefault('FUNCTION_PORT'), management: byDefault('MANAGEMENT_PORT') }).toEqual(
      MENTIONED_PORTS,
    );
    const named = blocks.flatMap(({ text }) => [...text.matchAll(/localhost:(\d+)/g)].map(([, port]) => Number(port)));
    expect(new Set(named)).toEqual(new Set(Object.values(MENTIONED_PORTS)));
  });

  it('requires the key that the first start showed', async () => {
    second = new Shell(folder, newcomer());
    const key = /Management key, shown only now: (\S+)/.exec(printed)?.[1];
    expect(blocks[1]).toEqual({ language: 'sh', text: 'read -r KEY' });
    await second.type(`${blocks[1]!.text}\n${key}`);
    expect((await second.type('echo "$KEY"')).output).toBe(`${key}\n`);
  });

  it('holds in all that follows: each command works, and what it is said to print is what it prints', async () => {
    const compared = await followPage(second, blocks.slice(2), { hosts: ourHosts(), withinMs: 0 });
    expect(compared).toBeGreaterThanOrEqual(3);
  }, 60_000);

  it('is right about calls without the key, about edits, and about edits that do not build', async () => {
    expect((await send(`http://${printedUrl('Functions')}/run/private/Ada`)).status).toBe(401);
    const upload = blocks
      .flatMap(ourCommands)
      .find((command) => command.startsWith('curl') && command.includes(' -T '))!;
    const answer = async (): Promise<string> =>
      (await second.type(`curl -sS ${printedUrl('Functions')}/run/hello/Ada`)).output;
    await second.type(`sed -i s/Hello/Goodbye/ hello.ts && ${upload}`);
    await eventually(async () => expect(await answer()).toBe('{"message":"Goodbye, Ada!"}'), 5000);
    await second.type(`echo 'export default (' > hello.ts && ${upload}`);
    await eventually(async () => {
      const { output } = await second.type(`curl -sS ${printedUrl('Management')}/api/functions -H "X-API-Key: $KEY"`);
      expect(output).toMatch(/demo\/hello\.ts:\d+:\d+/);
    }, 5000);
    expect(await answer()).toBe('{"message":"Goodbye, Ada!"}');
  }, 30_000);

  it('leaves a service that stops on SIGTERM', async () => {
    expect(await stopService()).toBe(0);
    expect(existsSync(join(folder, 'data/wherry.lock'))).toBe(false);
  }, 30_000);
});
