/** The process of jest-runner.js: runs one test file after the other, as messages order. */
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { cpuSeconds } from './cpu-time.ts';
// Not among the package's exports: its exact version is pinned.
import run, { setWorkerData } from '../../node_modules/jest-light-runner/src/worker-runner.js';

// Saved before any test can replace them.
const send = process.send.bind(process);

const folder = process.cwd();
const kill = process.kill.bind(process);

// The run was interrupted or killed: ends everything that was started.
process.on('disconnect', () => kill(-process.pid, 'SIGKILL'));

process.on('message', (message) => {
  if (message.workerData !== undefined) return setWorkerData(message.workerData);
  process.chdir(folder);
  const before = cpuSeconds();
  run(message.path).then(
    (result) => {
      // This process is killed, which writes nothing: the next one finds what this one compiled.
      flushCompileCache();
      send({ result: { ...result, cpuSeconds: cpuSeconds() - before } });
    },
    (error) =>
      send({
        error:
          error instanceof Error
            ? { message: error.message, stack: error.stack }
            : { message: String(error), stack: String(error) },
      }),
  );
});
