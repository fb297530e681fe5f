/**
 * Checks that files can lie side by side in one tree: no path appears twice, and no path is a folder of another one.
 * Each path has passed `filePathProblem`.
 * @returns what is wrong, as a sentence about the first two that clash; undefined when nothing is.
 */
export function treePathProblem(paths: Iterable<string>): string | undefined {
  // With the slash replaced by NUL, which no path contains, a file sorts right before everything under it.
  const sorted = Array.from(paths, (path) => path.replaceAll('/', '\0')).sort();
  for (const [index, path] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next === path) return `${show(path)} appears twice`;
    if (next?.startsWith(`${path}\0`) === true) return `${show(path)} is a file, so ${show(next)} cannot be one`;
  }
  return undefined;
}

function show(path: string): string {
  return path.replaceAll('\0', '/');
}
