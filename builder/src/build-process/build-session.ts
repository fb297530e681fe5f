import type { BuildInput, BuildRequest, UsedLock } from '@wherry/core/ports/builder.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { BlobResponder } from '../blob-exchange/blob-responder.ts';
import type { BuildChild } from './build-child.ts';
import {
  PackageError,
  type RequiredSpecifier,
  type LockedPackage,
  type PackageFailure,
  type PackageRegistry,
} from '../packages/package-registry.ts';
import type { UsedPackages } from './packages-of-last-build.ts';
import { buildReportSchema, type BuildOrder, type BuildReport, type LayoutsAnswer } from './protocol.ts';
import { resolvePackages } from '../packages/resolve-packages.ts';

export type FinalReport = Extract<BuildReport, { type: 'built' | 'failed' }>;
type Question = Exclude<BuildReport, FinalReport>;

/** How a session ended; undefined if without a report, in which case the exit of the process says why. */
export type BuildSessionEnd =
  { by: 'report'; report: FinalReport } | { by: 'nonsense' } | { by: 'packages'; failure: PackageFailure } | undefined;

interface BuildSessionContext {
  content: ContentStore;
  packages: () => Promise<PackageRegistry>;
  /** The process waits for packages until the returned function is called. */
  waitForPackages: () => () => void;
  signal: AbortSignal;
}

/** The exchange with one build process: we answer its requests until it reports. It runs untrusted code. */
export class BuildSession {
  /** The files that it has read, or that decided its packages. */
  readonly inputs = new Map<string, BuildInput>();
  /** By source. */
  locks = new Map<string, UsedLock>();
  /** The packages that it received, once it has requested some. */
  packages: UsedPackages | undefined;
  readonly #child: BuildChild;
  readonly #request: BuildRequest;
  readonly #context: BuildSessionContext;
  /** An attacker who took the process over gets nothing that the request does not contain anyway. */
  readonly #blobs: BlobResponder;
  /** What the layouts say about each tarball, by integrity. */
  readonly #tarballs = new Map<string, { source: string; locked: LockedPackage }>();
  #requirements: Record<string, RequiredSpecifier[]> = {};
  #requestedPackages = false;

  constructor(child: BuildChild, request: BuildRequest, context: BuildSessionContext) {
    this.#child = child;
    this.#request = request;
    this.#context = context;
    this.#blobs = new BlobResponder(child.channel, context.signal);
    for (const [digest, files] of filesByDigest(request))
      this.#blobs.allow(digest, () => this.#readFile(digest, files));
  }

  /** @throws the error of the content store or the signal. */
  async run(maxBytes: number): Promise<BuildSessionEnd> {
    const ended = Promise.withResolvers<BuildSessionEnd>();
    this.#child.channel.send(orderOf(this.#request, maxBytes));
    this.#listen(ended.resolve).catch(ended.reject);
    return ended.promise;
  }

  async #listen(end: (end: BuildSessionEnd) => void): Promise<void> {
    const failed = Promise.withResolvers<never>();
    // Answers are prepared concurrently; an error in one of them is raised here.
    failed.promise.catch(() => undefined);
    const messages = this.#child.channel.messages()[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([messages.next(), failed.promise]);
      if (next.done === true) return end(undefined);
      const message = buildReportSchema.safeParse(next.value);
      if (!message.success) return end({ by: 'nonsense' });
      const report = message.data;
      if (report.type === 'built' || report.type === 'failed') return end({ by: 'report', report });
      if (!this.#mayRequest(report)) return end({ by: 'nonsense' });
      this.#answer(report).then((other) => other !== undefined && end(other), failed.reject);
    }
  }

  #mayRequest(question: Question): boolean {
    if (question.type === 'blob') return this.#blobs.mayRequest(question.hash);
    return !this.#requestedPackages && Object.keys(question.sources).every((source) => this.#request.trees.has(source));
  }

  async #answer(question: Question): Promise<BuildSessionEnd> {
    if (question.type === 'blob') return this.#answerBlob(question.hash);
    return this.#waiting(() => this.#answerLayouts(question.sources));
  }

  async #waiting<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#context.waitForPackages();
    return work().finally(done);
  }

  async #answerBlob(hash: string): Promise<BuildSessionEnd> {
    try {
      await this.#blobs.answer(hash);
      return undefined;
    } catch (error) {
      if (error instanceof PackageError) return { by: 'packages', failure: await this.#placed(error, hash) };
      throw error;
    }
  }

  async #readFile(digest: string, files: BuildInput[]): Promise<Buffer> {
    for (const file of files) this.#reach(file);
    return this.#context.content.get(digest);
  }

  async #readTarball(integrity: string, lock: string): Promise<Buffer> {
    const packages = await this.#context.packages();
    const bytes = await packages.tarball(integrity, lock, this.#context.signal);
    this.packages?.tarballs.set(integrity, lock);
    return bytes;
  }

  async #answerLayouts(sources: Extract<Question, { type: 'packages' }>['sources']): Promise<BuildSessionEnd> {
    this.#requestedPackages = true;
    this.#requirements = sources;
    const { content, packages, signal } = this.#context;
    const resolved = await resolvePackages(sources, this.#request, { content, packages: await packages() }, signal);
    resolved.inputs.forEach((file) => this.#reach(file));
    if ('failure' in resolved) return { by: 'packages', failure: resolved.failure };
    this.locks = resolved.locks;
    for (const [source, layout] of Object.entries(resolved.layouts)) {
      const { lock = '' } = resolved.locks.get(source) ?? {};
      for (const locked of Object.values(layout.packages)) {
        const { integrity } = locked;
        this.#tarballs.set(integrity, { source, locked });
        this.#blobs.allow(integrity, () => this.#waiting(() => this.#readTarball(integrity, lock)));
      }
    }
    this.packages = { layouts: resolved.layouts, tarballs: new Map() };
    this.#child.channel.send({ type: 'layouts', layouts: resolved.layouts } satisfies LayoutsAnswer);
    return undefined;
  }

  /** A tarball's failure, at the import that requires it or with the source whose packages it belongs to. */
  async #placed({ reason, message, retry }: PackageFailure, integrity: string): Promise<PackageFailure> {
    const { source, locked } = this.#tarballs.get(integrity) ?? {};
    // The package registry has loaded it. A build without packages does without.
    const { npmSpecifier } = await import('../packages/npm-specifier.ts');
    const required = this.#requirements[source ?? '']?.find(({ specifier }) => {
      const parts = npmSpecifier(specifier);
      return 'name' in parts && parts.name === locked?.name;
    });
    if (required === undefined) return { reason, message: `Packages of source ${source}: ${message}`, retry };
    const { file, line, column } = required;
    return { reason, message: `${file}: ${message}`, location: { file, line, column }, retry };
  }

  #reach(file: BuildInput): void {
    this.inputs.set(`${file.source}/${file.path}`, file);
  }
}

function orderOf({ source, path, trees }: BuildRequest, maxBytes: number): BuildOrder {
  const files = [...trees].map(([name, tree]) => [
    name,
    Object.fromEntries(tree.files.map((file) => [file.path, [file.digest, file.size]])),
  ]);
  return { type: 'build', source, path, trees: Object.fromEntries(files) as BuildOrder['trees'], maxBytes };
}

function filesByDigest({ trees }: BuildRequest): Map<string, BuildInput[]> {
  const found = new Map<string, BuildInput[]>();
  for (const [source, tree] of trees) {
    for (const { path, digest } of tree.files) {
      const same = found.get(digest);
      if (same === undefined) found.set(digest, [{ source, path, digest }]);
      else same.push({ source, path, digest });
    }
  }
  return found;
}
