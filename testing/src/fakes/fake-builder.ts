import type { Builder, BuildInput, BuildRequest, BuildResult } from '@wherry/core/ports/builder.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { sha256, type TreeEntry } from '@wherry/core/trees/tree.ts';

type Failure = Extract<BuildResult, { ok: false }>;
type Answer = BuildResult | Error | ((request: BuildRequest) => BuildResult);

const IMPORT = /from '(\.[^']+)'/g;
/** The one error that this builder detects: two strings side by side. */
const SYNTAX_ERROR = /'[^']*' '/;

/**
 * A builder that makes an artifact of whatever it is given, unless a test sets the result. With a content store it
 * reads the files too, follows their relative imports and sees one kind of syntax error.
 */
export class FakeBuilder implements Builder {
  /** The requests, in order. */
  readonly requests: BuildRequest[] = [];
  readonly #content: ContentStore | undefined;
  readonly #answers = new Map<string, Answer>();
  readonly #hanging = new Set<() => void>();
  #hangs = false;

  constructor({ content }: { content?: ContentStore } = {}) {
    this.#content = content;
  }

  /** Sets how builds of a handler (`<source>/<path>`) end; an error makes them reject. Undefined: as by itself. */
  answer(handler: string, answer: Answer | undefined): void {
    if (answer === undefined) this.#answers.delete(handler);
    else this.#answers.set(handler, answer);
  }

  /** From now on builds do not end until `release`, or until their signal aborts. */
  hang(): void {
    this.#hangs = true;
  }

  /** Lets the builds that hang, and all later ones, go on. */
  release(): void {
    this.#hangs = false;
    for (const go of this.#hanging) go();
    this.#hanging.clear();
  }

  async build(request: BuildRequest, signal: AbortSignal): Promise<BuildResult> {
    signal.throwIfAborted();
    this.requests.push(request);
    if (this.#hangs) await this.#released(signal);
    const answer = this.#answers.get(`${request.source}/${request.path}`);
    if (answer instanceof Error) throw answer;
    if (typeof answer === 'function') return answer(request);
    return answer ?? this.#make(request);
  }

  async #released(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    this.#hanging.add(resolve);
    await promise.finally(() => signal.removeEventListener('abort', abort));
  }

  async #make({ source, path, trees }: BuildRequest): Promise<BuildResult> {
    const tree = trees.get(source);
    if (tree === undefined) return refused('SourceNotFound', `There is no source ${source}.`, []);
    if (fileAt(trees, `${source}/${path}`) === undefined) {
      return refused('HandlerNotFound', `Source ${source} has no file ${path}.`, []);
    }
    const inputs: BuildInput[] = [];
    const failure = await this.#read(`${source}/${path}`, trees, inputs);
    if (failure !== undefined) return failure;
    const text = inputs.map((input) => `${input.source}/${input.path} ${input.digest}`).join('\n');
    const artifact = Buffer.from(`export default () => new Response(${JSON.stringify(text)});\n`);
    return { ok: true, artifact, revision: sha256(artifact), inputs };
  }

  /** Adds the file and all that it imports to the inputs. */
  async #read(file: string, trees: BuildRequest['trees'], inputs: BuildInput[]): Promise<Failure | undefined> {
    const [source = '', ...rest] = file.split('/');
    const path = rest.join('/');
    if (inputs.some((input) => input.source === source && input.path === path)) return undefined;
    const entry = fileAt(trees, file);
    if (entry === undefined) return refused('ImportNotFound', `There is no file ${file}.`, inputs);
    inputs.push({ source, path, digest: entry.digest });
    const text = await this.#text(entry);
    const mistake = SYNTAX_ERROR.exec(text);
    if (mistake !== null) return syntaxError(file, text, mistake, inputs);
    for (const [, specifier = ''] of text.matchAll(IMPORT)) {
      const failure = await this.#read(new URL(specifier, `file:///${file}`).pathname.slice(1), trees, inputs);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  async #text(entry: TreeEntry): Promise<string> {
    const bytes = await this.#content?.get(entry.digest);
    return bytes?.toString('utf8') ?? '';
  }
}

function fileAt(trees: BuildRequest['trees'], file: string): TreeEntry | undefined {
  const slash = file.indexOf('/');
  return trees.get(file.slice(0, slash))?.files.find((entry) => entry.path === file.slice(slash + 1));
}

function refused(reason: Failure['reason'], message: string, inputs: BuildInput[]): Failure {
  return { ok: false, reason, message, inputs };
}

function syntaxError(file: string, text: string, mistake: RegExpExecArray, inputs: BuildInput[]): Failure {
  const before = text.slice(0, mistake.index + mistake[0].length - 1).split('\n');
  const location = { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  return { ...refused('SyntaxError', 'Expected ")" but found a string.', inputs), location };
}
