import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';

const MODULE = path.join(import.meta.dirname, 'kstatus');

/** A verdict of kstatus, by which Flux, Argo's tools and `kubectl` plugins wait. */
export type Kstatus = 'InProgress' | 'Failed' | 'Current' | 'Terminating' | 'NotFound' | 'Unknown';

/**
 * Builds the program of `kstatus/` where it is not yet in the cache of this machine; half a minute the first time.
 * @returns its path
 * @throws Error with what Go says, or that there is no Go
 */
export async function kstatusProgram(): Promise<string> {
  const hash = createHash('sha256').update(process.arch);
  for (const file of readdirSync(MODULE).sort()) hash.update(file).update(readFileSync(path.join(MODULE, file)));
  const folder = path.join(homedir(), '.cache', 'wherry', 'kstatus', hash.digest('hex').slice(0, 16));
  const program = path.join(folder, 'kstatus');
  if (existsSync(program)) return program;
  // Two test runs may build at once: each in a folder of its own, outside the tree, and the program gets its name when
  // it is whole.
  const module = `${folder}.${process.pid}`;
  cpSync(MODULE, module, { recursive: true });
  try {
    await promisify(execFile)('go', ['build', '-trimpath', '-o', 'kstatus', '.'], { cwd: module });
    mkdirSync(folder, { recursive: true });
    renameSync(path.join(module, 'kstatus'), program);
  } finally {
    rmSync(module, { recursive: true, force: true });
  }
  return program;
}

/** What kstatus makes of an object, as the API server would send it. */
export async function kstatusOf(program: string, object: object): Promise<Kstatus> {
  const child = spawn(program, { cwd: path.dirname(program), stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(`${JSON.stringify(object)}\n`);
  const verdict = (await text(child.stdout)).trim();
  if (verdict === '') throw new Error('kstatus refused the object: see above');
  return verdict as Kstatus;
}
