/**
 * When Node is not version 24, ends the program with one line that says what to do.
 * @param program as it names itself: `wherry router`.
 */
export function requireNode24(program: string, version: string = process.versions.node): void {
  if (version.startsWith('24.')) return;
  process.stderr.write(
    `${program}: Node.js 24 is required, but this is ${version}. Run "npm ci" and then "npm start", which uses its own Node.js on Linux; or use the program's image, or install Node.js 24.\n`,
  );
  process.exit(1);
}
