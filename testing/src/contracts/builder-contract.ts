import type { Builder, BuildRequest, BuildResult } from '@wherry/core/ports/builder.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { sha256, type TreeManifest } from '@wherry/core/trees/tree.ts';

/** A builder to test, and the store that it reads blobs from. */
interface BuilderHarness {
  builder: Builder;
  content: ContentStore;
  stop(): Promise<void>;
}

type Sources = Record<string, Record<string, string>>;

const HELLO = "export default (c) => c.text('hello');\n";
const NEVER = new AbortController().signal;

/** What every Builder must do. `make` is called once: a builder may be expensive to start. */
export function builderContract(make: () => Promise<BuilderHarness>): void {
  let harness: BuilderHarness;
  beforeAll(async () => {
    harness = await make();
  });
  afterAll(() => harness.stop());

  const build = async (handler: string, sources: Sources, mtime = 0): Promise<BuildResult> =>
    harness.builder.build(await request(harness.content, handler, sources, mtime), NEVER);

  it('B4: makes an artifact whose digest is the revision, and says which files are in it', async () => {
    const result = await build('api/hello.ts', { api: { 'hello.ts': HELLO, 'unused.ts': 'export const a = 1;\n' } });
    expect(result).toMatchObject({ ok: true, inputs: [{ source: 'api', path: 'hello.ts', digest: sha256(HELLO) }] });
    if (result.ok) expect(sha256(result.artifact)).toBe(result.revision);
  });

  it('gives the same trees the same revision, whenever their files were written', async () => {
    const sources = { api: { 'hello.ts': HELLO } };
    const first = revision(await build('api/hello.ts', sources));
    expect(revision(await build('api/hello.ts', sources, 1_700_000_000_000))).toBe(first);
    expect(revision(await build('api/hello.ts', { api: { ...sources.api, 'other.ts': 'export {};\n' } }))).toBe(first);
  });

  it('makes a new revision when any file changes that the handler reaches', async () => {
    const handler = "import { greeting } from './lib/greeting.ts';\nexport default (c) => c.text(greeting);\n";
    const sources = (greeting: string): Sources => ({
      api: { 'hello.ts': handler, 'lib/greeting.ts': `export const greeting = '${greeting}';\n` },
    });
    const first = revision(await build('api/hello.ts', sources('hello')));
    expect(revision(await build('api/hello.ts', sources('ahoy')))).not.toBe(first);
    expect(revision(await build('api/hello.ts', sources('hello')))).toBe(first);
  });

  it('follows imports into another source', async () => {
    const result = await build('api/v1/hello.ts', {
      api: {
        'v1/hello.ts':
          "import { greeting } from '../../shared/greeting.ts';\nexport default (c) => c.text(greeting);\n",
      },
      shared: { 'greeting.ts': "export const greeting = 'ahoy';\n" },
    });
    expect(result.ok).toBe(true);
    expect(result.inputs.map(({ source, path }) => `${source}/${path}`).sort()).toEqual([
      'api/v1/hello.ts',
      'shared/greeting.ts',
    ]);
  });

  it("names the handler's file when it is not there", async () => {
    const result = await build('api/gone.ts', { api: { 'hello.ts': HELLO } });
    expect(result).toMatchObject({ ok: false, reason: 'HandlerNotFound', message: expect.stringContaining('gone.ts') });
  });

  it('names the source when it is not there', async () => {
    const result = await build('nowhere/hello.ts', { api: { 'hello.ts': HELLO } });
    expect(result).toMatchObject({ ok: false, reason: 'SourceNotFound', message: expect.stringContaining('nowhere') });
  });

  it('names an import that is not there', async () => {
    const handler = "import { a } from './missing.ts';\nexport default (c) => c.text(a);\n";
    const result = await build('api/hello.ts', { api: { 'hello.ts': handler } });
    expect(result).toMatchObject({
      ok: false,
      reason: 'ImportNotFound',
      message: expect.stringContaining('missing.ts'),
    });
  });

  it('gives file, line and column of a syntax error, in a file that the handler reaches too', async () => {
    const result = await build('api/hello.ts', {
      api: {
        'hello.ts': "import { greeting } from './greeting.ts';\nexport default (c) => c.text(greeting);\n",
        'greeting.ts': "export const greeting =\n  String('a' 'b');\n",
      },
    });
    expect(result).toMatchObject({
      ok: false,
      reason: 'SyntaxError',
      location: { file: 'api/greeting.ts', line: 2, column: '  String('.length + "'a' ".length + 1 },
    });
    if (!result.ok) expect(result.message).not.toBe('');
  });

  it('does not begin a build that is no longer wanted', async () => {
    const wanted = await request(harness.content, 'api/hello.ts', { api: { 'hello.ts': HELLO } }, 0);
    await expect(harness.builder.build(wanted, AbortSignal.abort(new Error('not wanted')))).rejects.toThrow(
      'not wanted',
    );
  });
}

function revision(result: BuildResult): string {
  if (!result.ok) throw new Error(`the build failed: ${result.message}`);
  return result.revision;
}

async function request(content: ContentStore, handler: string, sources: Sources, mtime: number): Promise<BuildRequest> {
  const trees = new Map<string, TreeManifest>();
  for (const [source, files] of Object.entries(sources)) {
    const entries = Object.entries(files).map(async ([path, text]) => ({
      path,
      ...(await content.put(Buffer.from(text))),
      mtime,
    }));
    trees.set(source, { files: await Promise.all(entries) });
  }
  const slash = handler.indexOf('/');
  return { source: handler.slice(0, slash), path: handler.slice(slash + 1), trees };
}
