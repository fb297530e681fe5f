import { createHash } from 'node:crypto';
import type { BuildInput } from '@wherry/core/ports/builder.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import type { ActiveTrees } from '../content/trees.ts';

/** What to build: a handler, and the active trees, by their sources' names. */
export interface BuildTarget {
  /** `<source>/<path>`. */
  handler: string;
  activeTrees: ActiveTrees;
}

/** Files that influence a build although nothing of them is in the artifact. */
const STEERING = ['package.json', 'npm-shrinkwrap.json', 'package-lock.json', 'tsconfig.json'];

/** The two parts of a handler. */
export function parseHandler(handler: string): { source: string; path: string } {
  const slash = handler.indexOf('/');
  return { source: handler.slice(0, slash), path: handler.slice(slash + 1) };
}

/** The sources that a build reached: the handler's own, and those of its inputs. */
export function reachedSources(handler: string, inputs: readonly BuildInput[]): Set<string> {
  return new Set([parseHandler(handler).source, ...inputs.map((input) => input.source)]);
}

/**
 * Identifies what the result of a successful build depends on: the files that it read, and in the sources that it
 * reached the existing paths (a new file may change how an import resolves) and the files that influence it. If it is
 * equal for another order, that order has the same result.
 */
export function restsOn(target: BuildTarget, inputs: readonly BuildInput[]): Digest {
  const sources = [...reachedSources(target.handler, inputs)].sort().map((name) => {
    const tree = target.activeTrees.trees.get(name);
    return [name, tree?.paths, ...STEERING.map((path) => tree?.files.get(path) ?? null)];
  });
  const files = inputs
    .map(({ source, path }) => [source, path, target.activeTrees.trees.get(source)?.files.get(path) ?? null])
    .sort();
  return digestOf([target.handler, sources, files]);
}

function digestOf(value: unknown): Digest {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
