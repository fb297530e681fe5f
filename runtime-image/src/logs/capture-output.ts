import process from 'node:process';
import { Writable } from 'node:stream';
import type { CallLog } from './call-log.ts';
import type { WriteLevel } from './log-levels.ts';

const METHODS = ['log', 'debug', 'info', 'warn', 'error'] as const;

/**
 * Makes `console`, `process.stdout` and `process.stderr` write to the log. The other methods of console (`table`,
 * `dir`, `count` …) end in these. Nothing is written to the process's own standard output.
 */
export function captureOutput(log: CallLog): void {
  const console = globalThis.console;
  for (const method of METHODS) console[method] = (...values: unknown[]) => log.write(method, values);
  console.trace = function trace(...values: unknown[]) {
    const holder = { stack: '' };
    Error.captureStackTrace(holder, trace);
    log.write('trace', [[...values.map(String), holder.stack.replace(/^Error\n/, '')].join('\n')]);
  };
  replaceStream('stdout', 1, log);
  replaceStream('stderr', 2, log);
}

function replaceStream(name: WriteLevel & ('stdout' | 'stderr'), fd: number, log: CallLog): void {
  let stream: Writable | undefined;
  const make = (): Writable => {
    const captured = new Writable({
      decodeStrings: false,
      write(chunk: string | Buffer, _encoding, done) {
        const text = typeof chunk === 'string' ? chunk : chunk.toString('utf8');
        if (text !== '') log.write(name, [text.replace(/\r?\n$/, '')]);
        done();
      },
    });
    return Object.assign(captured, { fd, isTTY: false });
  };
  Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => (stream ??= make()) });
}
