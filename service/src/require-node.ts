/**
 * Ends the program with one line that says what to do when it runs on another Node than 24.
 * @param program as it names itself: `wherry router`.
 */
export function requireNode24(program: string, version: string = process.versions.node): void {
  if (version.startsWith('24.')) return;
  process.stderr.write(
    `${program}: Node.js 24 is needed, this is ${version}. Run "npm ci" and then "npm start", which brings its own on Linux, or the program's image, or install Node.js 24.\n`,
  );
  process.exit(1);
}
