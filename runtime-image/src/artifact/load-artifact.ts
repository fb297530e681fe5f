import { createHash } from 'node:crypto';
import { registerHooks } from 'node:module';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { evaluateWithin } from './evaluate-within.ts';
import { showAuthorsFiles } from './authors-stack-traces.ts';
import { describeLoadError } from './describe-load-error.ts';
import { HANDLER_URL } from './handler-url.ts';
import type { Handler } from '../call/handler.ts';
import { handlerOf } from './handler-of.ts';

export type LoadResult =
  { ok: true; handler: Handler } | { ok: false; reason: 'ExportError' | 'LoadError'; message: string };

interface LoadOptions {
  clock: Clock;
  timeoutMs: number;
  /** `node:sqlite` may be used where another boundary contains it (a pod). */
  allowSqlite: boolean;
}

/** Whether the artifact is, byte for byte, the one that the revision names: its SHA-256 in lowercase hex (B4). */
export function isArtifactOf(artifact: string, revision: string): boolean {
  return createHash('sha256').update(artifact).digest('hex') === revision;
}

/**
 * Loads the artifact from memory: no file of it exists for another function to read (S1). Stack traces name the
 * author's files, by its inline source map. Called once per process.
 */
export async function loadArtifact(artifact: string, options: LoadOptions): Promise<LoadResult> {
  serveFromMemory(showAuthorsFiles(artifact), options.allowSqlite);
  const late = Promise.withResolvers<'late'>();
  const cancel = options.clock.after(options.timeoutMs, () => late.resolve('late'));
  const tooLate = (why: string): LoadResult =>
    failure(
      `The handler's top level did not finish within ${options.timeoutMs / 1000} s: ${why} in it never ends, or takes too long.`,
    );
  try {
    if (!evaluateWithin(HANDLER_URL, options.timeoutMs)) return tooLate('a loop');
    const module = await Promise.race([import(HANDLER_URL) as Promise<{ default?: unknown }>, late.promise]);
    return module === 'late' ? tooLate('an await') : handlerOf(module);
  } catch (error) {
    return failure(describeLoadError(error));
  } finally {
    cancel();
  }
}

const failure = (message: string): LoadResult => ({ ok: false, reason: 'LoadError', message });

function serveFromMemory(source: string, allowSqlite: boolean): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === HANDLER_URL) return { url: HANDLER_URL, format: 'module', shortCircuit: true };
      if (!allowSqlite && /^(?:node:)?sqlite$/.test(specifier)) {
        throw new Error('node:sqlite cannot be used in a function here: it could open any file of the machine.');
      }
      return next(specifier, context);
    },
    load: (url, context, next) =>
      url === HANDLER_URL ? { format: 'module', source, shortCircuit: true } : next(url, context),
  });
}
