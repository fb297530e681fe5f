import { Readable } from 'node:stream';
import { filePathProblem } from '@wherry/core/trees/file-path.ts';
import { treePathProblem } from '@wherry/core/trees/tree-paths.ts';
import { conflict, invalid, notFound, type DomainError } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { CodeSourceResource } from '@wherry/core/resources/kinds.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { settingValue } from '@wherry/core/settings-definitions.ts';
import type { TreeEntry } from '@wherry/core/trees/tree.ts';
import type { SourceService } from '../sources/source-service.ts';
import { packTree } from './pack-tree.ts';
import { checkPreconditions, type Preconditions } from './preconditions.ts';
import type { Stored } from './put-file.ts';
import { requireEditable, type Files, type SourceTrees, type StoredFile } from './source-trees.ts';

interface FileServiceOptions {
  store: ResourceStore;
  content: ContentStore;
  sources: SourceService;
  trees: SourceTrees;
}

/**
 * An upload from the network, which is not read before it may be stored: stores it as blobs, each of up to `limit`
 * bytes.
 * @throws DomainError `too_large`, `validation_failed`, `unsupported_media_type`.
 */
export type Upload<T> = (content: ContentStore, limit: number) => Promise<T>;

interface FileTarget {
  sourceId: string;
  path: string;
  conditions: Preconditions;
}

/** Files of sources, one at a time and whole trees. Paths are decoded already, and checked here (F1). */
export class FileService {
  readonly #options: FileServiceOptions;

  constructor(options: FileServiceOptions) {
    this.#options = options;
  }

  /** All files, by path. @throws DomainError `not_found`. */
  async list(sourceId: string): Promise<TreeEntry[]> {
    const source = await this.#options.sources.get(sourceId);
    return [...(await this.#options.trees.read(source)).values()];
  }

  /** @throws DomainError `validation_failed` for a bad path; `not_found`, for a folder too. */
  async find(sourceId: string, path: string): Promise<TreeEntry> {
    const source = await this.#options.sources.get(sourceId);
    checkPath(path);
    const entry = (await this.#options.trees.read(source)).get(path);
    if (entry === undefined) throw missingFile(path);
    return entry;
  }

  async bytes(entry: TreeEntry): Promise<Buffer> {
    return this.#options.content.get(entry.digest);
  }

  async stream(entry: TreeEntry): Promise<Readable> {
    return Readable.from(await this.#options.content.open(entry.digest), { objectMode: false });
  }

  /**
   * Stores an upload and puts it at the path. Conditions are checked again when the head moves.
   * @param target createOnly refuses a path that has a file.
   * @throws DomainError `forbidden`, `precondition_failed`, `conflict`, `too_large`, `validation_failed`.
   */
  async put(
    { sourceId, path, conditions, createOnly }: FileTarget & { createOnly: boolean },
    upload: Upload<Stored>,
  ): Promise<{ entry: TreeEntry; created: boolean }> {
    const { trees, content } = this.#options;
    const check = (files: Files): void => {
      const before = files.get(path);
      if (createOnly && before !== undefined) throw conflict(`The file ${path} already exists.`);
      checkPreconditions(conditions, before);
      checkPlace(files, path);
    };
    const source = await this.#options.sources.get(sourceId);
    checkPath(path);
    requireEditable(source);
    // Before the body is read, so that a refusal does not cost an upload.
    check(await trees.read(source));
    const stored = await upload(content, await this.#limit());
    return trees.change(sourceId, (files) => {
      check(files);
      const before = files.get(path);
      const entry = trees.entryOf({ path, ...stored }, before);
      files.set(path, entry);
      return { entry, created: before === undefined };
    });
  }

  async remove({ sourceId, path, conditions }: FileTarget): Promise<void> {
    const source = await this.#options.sources.get(sourceId);
    checkPath(path);
    requireEditable(source);
    await this.#options.trees.change(sourceId, (files) => {
      const before = files.get(path);
      if (before === undefined) throw missingFile(path);
      checkPreconditions(conditions, before);
      files.delete(path);
    });
  }

  /**
   * Puts many files in one step, one revision.
   * @param whole whether they replace all files of the source, or are added to them.
   * @returns the source, and how many files it then has.
   */
  async putTree(
    sourceId: string,
    upload: Upload<Map<string, StoredFile>>,
    whole: boolean,
  ): Promise<{ source: CodeSourceResource; files: number }> {
    const { trees, content } = this.#options;
    const source = await this.#options.sources.get(sourceId);
    requireEditable(source);
    const uploaded = await upload(content, await this.#limit());
    const problem = treePathProblem(uploaded.keys());
    if (problem !== undefined) throw invalid(`The paths of the upload conflict: ${problem}.`);
    const count = await trees.change(sourceId, (files) => {
      const before = new Map(files);
      if (whole) files.clear();
      for (const file of uploaded.values()) files.set(file.path, trees.entryOf(file, before.get(file.path)));
      return files.size;
    });
    return { source, files: count };
  }

  /** All files as a compressed tar. */
  async packTree(sourceId: string): Promise<Readable> {
    return packTree(await this.list(sourceId), this.#options.content);
  }

  async #limit(): Promise<number> {
    const settings = await this.#options.store.get('Settings', SETTINGS_NAME);
    return Number(settingValue(settings?.spec.values, 'files.max-size-bytes'));
  }
}

function checkPath(path: string): void {
  const problem = filePathProblem(path);
  if (problem !== undefined) throw invalid(`The path ${problem}.`, [{ path: 'path', message: problem }]);
}

/** A file cannot have the path of a folder, or lie below another file. */
function checkPlace(files: Files, path: string): void {
  const problem = files.has(path) ? undefined : treePathProblem([...files.keys(), path]);
  if (problem !== undefined) throw conflict(`${problem}.`);
}

function missingFile(path: string): DomainError {
  return notFound(`There is no file ${path} in this source.`);
}
