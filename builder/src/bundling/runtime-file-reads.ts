/**
 * Code that relies on a file beside it, which does not exist when the function runs, because the function is one
 * module.
 */
const PATTERNS: { pattern: RegExp; where: (code: string) => boolean; text: string }[] = [
  {
    pattern: /\bnew\s+(?:\w+\.)?Worker\s*\((?![^;]*\beval\s*:)/g,
    where: (code) => code.includes('worker_threads'),
    text: "new Worker() cannot load a file: the function is bundled into one module. Do the work in the handler, or pass the worker's code itself with { eval: true }.",
  },
  {
    pattern: /\bnew\s+URL\s*\(\s*(['"`])\.{1,2}\/[^'"`]*\1\s*,\s*import\.meta\.url/g,
    where: (code) => code.includes('import.meta'),
    text: 'Files beside the code cannot be read at run time: the function is bundled into one module. Import the file with { type: "text" } or { type: "bytes" }.',
  },
];
/** The line's beginning, where it says that the rest is a comment. */
const COMMENT = /\/[/*]|^\s*\*/;

/** Where code uses such a file in one of the usual ways, and what to do instead; undefined when it does not. */
export function runtimeFileRead(code: string): { index: number; text: string } | undefined {
  for (const { pattern, where, text } of PATTERNS) {
    if (!where(code)) continue;
    for (const { index } of code.matchAll(pattern)) {
      const lineStart = code.lastIndexOf('\n', index) + 1;
      if (!COMMENT.test(code.slice(lineStart, index))) return { index, text };
    }
  }
  return undefined;
}
