/** @param file a test file's path */
export function needsCluster(file: string): boolean {
  return /(^|\/)cluster-suites\//.test(file);
}
