/**
 * Checks that files can lie side by side in one tree: no path twice, and none a folder of another's. Each path has
 * passed `filePathProblem`.
 * @returns what is wrong, as a sentence about the first two that clash; undefined when nothing is.
 */
export function treePathProblem(paths: Iterable<string>): string | undefined {
  // With NUL, which no path holds, for the slash, a file stands right before whatever lies under it.
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
