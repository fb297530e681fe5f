// Loaded into the service with --import: it ends the process with SIGKILL at one chosen write of a rotation. Query: `at`
// is `begin`, `activate` or `conclude`, the steps of the key file, or the number of a write of the database since the
// new key is active; `moment` is `before` or `after`; `file` is the key file.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

interface Keys {
  current: number;
  rotation?: { target: number; finishedAt?: string };
}

const query = new URL(import.meta.url).searchParams;
const at = query.get('at') ?? '';
const moment = query.get('moment');
const file = query.get('file') ?? '';
let writes = 0;
let isActive = isMainThread && fs.existsSync(file) && stepOf(file) === 'activate';

function stepOf(path: string): string {
  const { current, rotation } = JSON.parse(fs.readFileSync(path, 'utf8')) as Keys;
  if (rotation === undefined) return 'first';
  if (rotation.finishedAt !== undefined) return 'conclude';
  return rotation.target === current ? 'activate' : 'begin';
}

function around<T>(isHere: boolean, work: () => T): T {
  const kill = (): unknown => process.kill(process.pid, 'SIGKILL');
  if (isHere && moment === 'before') kill();
  const result = work();
  if (isHere && moment === 'after') kill();
  return result;
}

// The log and audit databases have threads of their own.
if (isMainThread) {
  const rename = fs.renameSync.bind(fs);
  fs.renameSync = (from, to) => {
    if (to !== file) return rename(from, to);
    const step = stepOf(from.toString());
    around(step === at, () => rename(from, to));
    isActive = step === 'activate';
  };
  syncBuiltinESMExports();

  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its object below
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function run(this: DatabaseSync, sql: string): void {
    const isWrite = sql === 'COMMIT' && isActive;
    if (isWrite) writes += 1;
    around(isWrite && String(writes) === at, () => exec.call(this, sql));
  };
}
