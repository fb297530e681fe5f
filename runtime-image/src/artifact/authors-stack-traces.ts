import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';
import { HANDLER_URL } from './handler-url.ts';

const COMMENT = '//# sourceMappingURL=data:application/json;base64,';
type Frame = NodeJS.CallSite & { toString: () => string };
const PLACE = `${HANDLER_URL}:`;

/**
 * Has stack traces name the author's files. Node's own support reads the whole map when the module is loaded, which
 * takes longer than loading it; here it is read for the first error whose stack is accessed.
 * @returns the artifact without its map.
 */
export function nameAuthorsFiles(artifact: string): string {
  const start = artifact.lastIndexOf(COMMENT);
  if (start === -1) return artifact;
  const base64 = artifact.slice(start + COMMENT.length);
  let map: SourceMap | undefined;
  Error.prepareStackTrace = (error, frames) => {
    const lines = frames.map((frame) => {
      const text = (frame as Frame).toString();
      return text.includes(PLACE) ? authorsFrame((map ??= readMap(base64)), frame, text) : text;
    });
    return [headline(error), ...lines].join('\n    at ');
  };
  return artifact.slice(0, start);
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
