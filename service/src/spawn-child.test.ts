import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

/**
 * Takes all descriptors, fails to start a program, gives one back after the other until it starts. Prints how both
 * went.
 */
const PROGRAM = `
import { closeSync, openSync } from 'node:fs';
import { spawnChild } from ${JSON.stringify(path.join(import.meta.dirname, 'spawn-child.ts'))};
const start = () => spawnChild(process.execPath, ['--version'], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
const taken = [];
try { for (;;) taken.push(openSync('/dev/null')); } catch {}
let failure;
try { start(); } catch (error) { failure = error.message; }
// An 'error' event that nobody listens to ends the process here.
await new Promise((resolve) => setImmediate(resolve));
for (const descriptor of taken) closeSync(descriptor);
const child = start();
child.once('exit', (code) => console.log(JSON.stringify([failure, code])));
`;

describe('spawnChild', () => {
  it('S3: throws where no file descriptor is left, and goes on when there is', async () => {
    const script = 'ulimit -n 64; exec "$0" --input-type=module --eval "$1"';
    const { stdout } = await promisify(execFile)('sh', ['-c', script, process.execPath, PROGRAM]);
    expect(JSON.parse(stdout)).toEqual([
      `${process.execPath} cannot be started: no file descriptor is left (EMFILE)`,
      0,
    ]);
  });
});
