import type { BuildInput, BuildRequest, UsedLock } from '@wherry/core/ports/builder.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { BuildChild } from './build-child.ts';
import {
  PackageError,
  type RequiredSpecifier,
  type LockedPackage,
  type PackageFailure,
  type PackageRegistry,
} from '../packages/package-registry.ts';
import type { UsedPackages } from './packages-of-last-build.ts';
import { buildReportSchema, type Answer, type BuildOrder, type BuildReport } from './protocol.ts';
import { resolvePackages } from '../packages/resolve-packages.ts';

/** Requests that a process may have open; ours has fewer. */
const MAX_OPEN = 64;

export type FinalReport = Extract<BuildReport, { type: 'built' | 'failed' }>;
type Question = Exclude<BuildReport, FinalReport>;

/** How a conversation ended; undefined: without a report, and how the process exits says why. */
export type BuildSessionEnd =
  { by: 'report'; report: FinalReport } | { by: 'nonsense' } | { by: 'packages'; failure: PackageFailure } | undefined;

interface BuildSessionContext {
  content: ContentStore;
  packages: () => Promise<PackageRegistry>;
  /** The process waits for packages until the returned function is called. */
  waitForPackages: () => () => void;
  signal: AbortSignal;
}

/** The talk with a building process: we answer its questions until it reports. It runs untrusted code. */
export class BuildSession {
  /** The files that it has read, or that decided its packages. */
  readonly inputs = new Map<string, BuildInput>();
  /** By source. */
  locks = new Map<string, UsedLock>();
  /** The packages that it got, once it has requested some. */
  packages: UsedPackages | undefined;
  readonly #child: BuildChild;
  readonly #request: BuildRequest;
  readonly #context: BuildSessionContext;
  /** Whoever took the process over gets nothing that the request does not hold anyway. */
  readonly #allowed: Map<string, BuildInput[]>;
  /** What the layouts say of each tarball, by integrity. */
  readonly #tarballs = new Map<string, { source: string; locked: LockedPackage; lock: string }>();
  #requirements: Record<string, RequiredSpecifier[]> = {};
  #requestedPackages = false;
  #open = 0;

  constructor(child: BuildChild, request: BuildRequest, context: BuildSessionContext) {
    this.#child = child;
    this.#request = request;
    this.#context = context;
    this.#allowed = filesByDigest(request);
  }

  /** @throws what the content store or the signal says. */
  async run(maxBytes: number): Promise<BuildSessionEnd> {
    const ended = Promise.withResolvers<BuildSessionEnd>();
    this.#child.channel.send(orderOf(this.#request, maxBytes));
    this.#listen(ended.resolve).catch(ended.reject);
    return ended.promise;
  }

  async #listen(end: (end: BuildSessionEnd) => void): Promise<void> {
    const failed = Promise.withResolvers<never>();
    // Answers are made side by side; what goes wrong with one of them is raised here.
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
    if (this.#open >= MAX_OPEN) return false;
    if (question.type === 'blob') return this.#allowed.has(question.digest);
    if (question.type === 'package') return this.#tarballs.has(question.integrity);
    return !this.#requestedPackages && Object.keys(question.sources).every((source) => this.#request.trees.has(source));
  }

  async #answer(question: Question): Promise<BuildSessionEnd> {
    this.#open += 1;
    try {
      if (question.type === 'blob') return await this.#answerBlob(question.digest);
      return await this.#waiting(() =>
        question.type === 'package' ? this.#answerTarball(question.integrity) : this.#answerLayouts(question.sources),
      );
    } finally {
      this.#open -= 1;
    }
  }

  async #waiting<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#context.waitForPackages();
    return work().finally(done);
  }

  async #answerBlob(digest: string): Promise<undefined> {
    for (const file of this.#allowed.get(digest) ?? []) this.#reach(file);
    const bytes = await this.#context.content.get(digest);
    this.#say({ type: 'blob', digest, base64: bytes.toString('base64') });
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
      for (const locked of Object.values(layout.packages))
        this.#tarballs.set(locked.integrity, { source, locked, lock });
    }
    this.packages = { layouts: resolved.layouts, tarballs: new Map() };
    this.#say({ type: 'layouts', layouts: resolved.layouts });
    return undefined;
  }

  async #answerTarball(integrity: string): Promise<BuildSessionEnd> {
    try {
      const packages = await this.#context.packages();
      const lock = this.#tarballs.get(integrity)?.lock ?? '';
      const bytes = await packages.tarball(integrity, lock, this.#context.signal);
      this.packages?.tarballs.set(integrity, lock);
      this.#say({ type: 'package', integrity, base64: bytes.toString('base64') });
      return undefined;
    } catch (error) {
      if (error instanceof PackageError) return { by: 'packages', failure: await this.#placed(error, integrity) };
      throw error;
    }
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

  #say(answer: Answer): void {
    this.#child.channel.send(answer);
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
