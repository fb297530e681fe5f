import { mustRun } from '../command.ts';

/**
 * The shared libraries that programs load at their start, the loader included, as `ldd` names them.
 * @param programs absolute paths, in `root` when one is given
 * @param root the root of another file system, whose own `ldd` is run
 */
export async function sharedLibraries(programs: readonly string[], root?: string): Promise<string[]> {
  const [command, ...args] = root === undefined ? ['ldd', ...programs] : ['chroot', root, 'ldd', ...programs];
  const output = await mustRun(command ?? '', args);
  const found = output.split('\n').map((line) => /(?:=> |^\s*)(\/\S+) \(0x/.exec(line)?.[1]);
  return [...new Set(found.filter((file) => file !== undefined))].sort();
}
