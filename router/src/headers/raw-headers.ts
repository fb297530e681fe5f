/** Walks a flat list of names and values, in order. */
export function eachHeader(
  rawHeaders: readonly string[],
  visit: (lowerName: string, value: string, name: string) => void,
): void {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    visit(name.toLowerCase(), rawHeaders[index + 1] ?? '', name);
  }
}

/** All values of a header in a flat list of names and values, in order. `lowerName` is in lower case. */
export function headerValues(rawHeaders: readonly string[], lowerName: string): string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

/** The first value of a header; undefined when it is absent. */
export function headerValue(rawHeaders: readonly string[], lowerName: string): string | undefined {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) return rawHeaders[index + 1];
  }
  return undefined;
}
