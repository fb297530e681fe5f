import path from 'node:path';
import { isExecutable, programsFolder } from '../cluster/programs/build-programs.ts';

/**
 * The path of a Kubernetes program: in KUBEBUILDER_ASSETS, else where `npm run cluster` builds them.
 * @throws Error that says what to run when it is in neither
 */
export function programPath(name: string): string {
  const folders = [process.env.KUBEBUILDER_ASSETS, programsFolder()].filter(
    (folder) => folder !== undefined && folder !== '',
  );
  const found = folders.map((folder) => path.join(folder ?? '', name)).find(isExecutable);
  if (found === undefined)
    throw new Error(
      `${name} is not in ${folders.join(' nor in ')}. Run \`npm run cluster -- programs\`, which builds it.`,
    );
  return found;
}
