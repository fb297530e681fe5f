import { treePathProblem } from '@wherry/core/trees/tree-paths.ts';
import { conflict, DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { CodeSourceResource } from '@wherry/core/resources/kinds.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { decodeTree, EMPTY_TREE, encodeTree, type TreeEntry } from '@wherry/core/trees/tree.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { Collection } from '../object-access/collection.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/** The files of a tree by path. */
export type Files = Map<string, TreeEntry>;

/** Content that is stored as a blob already. */
export interface StoredFile {
  path: string;
  digest: Digest;
  size: number;
  executable?: boolean;
}

interface SourceTreesOptions {
  store: ResourceStore;
  content: ContentStore;
  clock: Clock;
  lock: KeyedLock;
}

/**
 * The trees of sources. A change writes the blobs, then the manifest, then the head by compare-and-swap: a crash in
 * between leaves the old tree intact (F2), and concurrent changes are applied one after the other.
 */
export class SourceTrees {
  readonly #options: SourceTreesOptions;
  readonly #sources: Collection<'CodeSource'>;

  constructor(options: SourceTreesOptions) {
    this.#options = options;
    this.#sources = new Collection('CodeSource', options);
  }

  /** The active files: of a manual source its head's, of a git source those of its last good sync. */
  async read(source: CodeSourceResource): Promise<Files> {
    const digest = source.spec.type === 'manual' ? source.spec.manual?.tree : source.status.tree;
    const manifest = digest === undefined ? EMPTY_TREE : decodeTree(await this.#options.content.get(digest));
    return new Map(manifest.files.map((entry) => [entry.path, entry]));
  }

  /**
   * Changes the files of a manual source in one step.
   * @param change edits the map that it is given, and may throw; it runs once per attempt, on the current head.
   * @returns what `change` returned in the attempt that was written.
   */
  change<T>(id: string, change: (files: Files) => T): Promise<T> {
    const { lock, content } = this.#options;
    return lock.run(`source/${id}`, async () => {
      let result: { value: T } | undefined;
      await this.#sources.change(id, async (source) => {
        requireEditable(source);
        const files = await this.read(source);
        result = { value: change(files) };
        checkTree(files);
        const { bytes, digest } = encodeTree({ files: [...files.values()] });
        if (digest === source.spec.manual?.tree) return undefined;
        await content.put(bytes);
        return { ...source.spec, manual: { tree: digest } };
      });
      if (result === undefined) throw new DomainError('internal_error', 'The change of files did not run.');
      return result.value;
    });
  }

  /**
   * The entry for stored content: an unchanged file keeps its time, so that uploading the same content changes nothing.
   */
  entryOf(file: StoredFile, before: TreeEntry | undefined): TreeEntry {
    const executable = file.executable ?? before?.executable === true;
    if (before?.digest === file.digest && (before.executable === true) === executable) return before;
    const { path, digest, size } = file;
    return { path, digest, size, ...(executable ? { executable } : {}), mtime: Math.trunc(this.#options.clock.now()) };
  }
}

/** @throws DomainError `forbidden` for sources whose files are not to be written. */
export function requireEditable(source: CodeSourceResource): void {
  if (source.spec.type !== 'manual')
    throw new DomainError('forbidden', 'The files of a git source come from its repository: change them there.');
  if (!source.spec.enabled)
    throw new DomainError('forbidden', 'The source is disabled: enable it to change its files.');
}

function checkTree(files: Files): void {
  if (files.size > MANAGER_LIMITS.sourceFiles)
    throw new DomainError('too_large', `A source may have at most ${MANAGER_LIMITS.sourceFiles} files.`);
  const problem = treePathProblem(files.keys());
  if (problem !== undefined) throw conflict(`${problem}.`);
}
