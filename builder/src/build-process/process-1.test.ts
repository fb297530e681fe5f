import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('../testing/builds-as-process-1.ts', import.meta.url));
/**
 * A machine's init reaps what falls to it; a process 1 that is no init, as in a container, reaps its own children
 * alone.
 */
const NAMESPACE = ['--pid', '--fork', '--mount-proc', '--kill-child'];
const isRoot = process.getuid?.() === 0;

(isRoot ? it : it.skip)(
  'B1: builds leave no zombie where the service is process 1, in whatever way they end',
  async () => {
    const { stdout } = await promisify(execFile)('unshare', [...NAMESPACE, process.execPath, PROGRAM]);
    expect(JSON.parse(stdout)).toEqual({
      pid: 1,
      ends: [
        ['ok', []],
        // It takes too long; and it is stopped, so that it reaps nothing itself.
        ['BuildTimeout', []],
        ['BuildTimeout', []],
        ['superseded', []],
        // Node's process is killed, as the kernel does when memory runs out; and crashes.
        ['BuildOutOfMemory', []],
        ['BuildFailed', []],
        ['Error: the builder is stopping', []],
      ],
    });
  },
  60_000,
);
