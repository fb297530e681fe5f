import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';
import { HANDLER_URL } from './handler-url.ts';

const COMMENT = '//# sourceMappingURL=data:application/json;base64,';
type Frame = NodeJS.CallSite & { toString: () => string };
const PLACE = `${HANDLER_URL}:`;

/**
 * Makes stack traces show the author's files, and not the runtime's. Node's own support of source maps reads the whole
 * map when the module is loaded, which takes longer than loading it; here it is read for the first error whose stack is
 * accessed.
 * @returns the artifact without its map.
 */
export function showAuthorsFiles(artifact: string): string {
  const start = artifact.lastIndexOf(COMMENT);
  const base64 = start === -1 ? undefined : artifact.slice(start + COMMENT.length);
  let map: SourceMap | undefined;
  Error.prepareStackTrace = (error, frames) => {
    const lines = withoutRuntime(frames).map((frame) => {
      const text = (frame as Frame).toString();
      if (base64 === undefined || !text.includes(PLACE)) return text;
      return authorsFrame((map ??= readMap(base64)), frame, text);
    });
    return [headline(error), ...lines].join('\n    at ');
  };
  return start === -1 ? artifact : artifact.slice(0, start);
}

/**
 * Without the runtime's frames, and without Node's that lead to its call of the handler. Node's other frames stay: those
 * inside of the handler's own calls, and those of a timer that called the author's code.
 */
function withoutRuntime(frames: NodeJS.CallSite[]): NodeJS.CallSite[] {
  const outermost = frames.findLastIndex((frame) => frame.getFileName() === HANDLER_URL);
  const end = frames.findIndex((frame, index) => index > outermost && isRuntimes(frame));
  return (end === -1 ? frames : frames.slice(0, end)).filter((frame) => !isRuntimes(frame));
}

/** The handler and its packages are one file, and no other can be imported: every other file is the runtime's. */
function isRuntimes(frame: NodeJS.CallSite): boolean {
  const file = frame.getFileName() ?? '';
  return file !== HANDLER_URL && (file.startsWith('/') || file.startsWith('file:'));
}

function readMap(base64: string): SourceMap {
  return new SourceMap(JSON.parse(Buffer.from(base64, 'base64').toString('utf8')) as SourceMapPayload);
}

/** V8's own text of the frame, with the place in the author's file; unchanged where the code is not an author's. */
function authorsFrame(map: SourceMap, frame: NodeJS.CallSite, text: string): string {
  const line = frame.getLineNumber();
  const column = frame.getColumnNumber();
  if (frame.getFileName() !== HANDLER_URL || line === null || column === null) return text;
  const entry = map.findEntry(line - 1, column - 1);
  if (!('originalSource' in entry)) return text;
  const file = fileURLToPath(new URL(entry.originalSource, HANDLER_URL));
  return text.replace(
    `${PLACE}${line}:${column}`,
    () => `${file}:${entry.originalLine + 1}:${entry.originalColumn + 1}`,
  );
}

/** As V8 begins a stack; an error whose own toString throws must not hide that there was one. */
function headline(error: Error): string {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return '<error>';
  }
}
