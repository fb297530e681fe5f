import { readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

const PROGRAMS = ['etcd', 'kube-apiserver'];

/**
 * The folder that holds etcd and kube-apiserver: KUBEBUILDER_ASSETS, else the newest that `npm run cluster` has filled.
 * @throws Error that says what to run when there is none
 */
export function kubernetesPrograms(environment: NodeJS.ProcessEnv = process.env): string {
  const named = environment['KUBEBUILDER_ASSETS'];
  const caches = path.join(environment['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'wherry', 'kubernetes');
  const found = (named === undefined ? newestFirst(caches) : [named]).find(isComplete);
  if (found !== undefined) return found;
  throw new Error(
    `${PROGRAMS.join(' and ')} are not in ${named ?? caches}. Run \`npm run cluster -- programs\`, which builds them, ` +
      'or name a folder that has them in KUBEBUILDER_ASSETS.',
  );
}

function isComplete(folder: string): boolean {
  return PROGRAMS.every(
    (program) => statSync(path.join(folder, program), { throwIfNoEntry: false })?.isFile() === true,
  );
}

function newestFirst(caches: string): string[] {
  if (statSync(caches, { throwIfNoEntry: false }) === undefined) return [];
  const folders = readdirSync(caches).map((name) => path.join(caches, name));
  return folders.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
}
