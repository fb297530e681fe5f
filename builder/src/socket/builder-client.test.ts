import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { builderContract } from '@wherry/testing/contracts/builder-contract.ts';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import type { BuildRequest, BuildResult } from '@wherry/core/ports/builder.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { createProcessBuilder } from '../build-process/create-process-builder.ts';
import { createBuilderClient } from './builder-client.ts';
import { startBuilderServer, type BuilderServer } from './builder-server.ts';
import { buildLeaders, buildProcesses, groupMembers, makeRequest, type Sources } from '../testing/build-bench.ts';
import { FakePackageRegistry } from '../testing/fake-package-registry.ts';

const HELLO = "export default (c) => c.text('hello');\n";
const SOURCES: Sources = { api: { 'hello.ts': HELLO } };
const never = (): AbortSignal => new AbortController().signal;

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-socket-'));
  file = path.join(folder, 'builder.sock');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The builder's side, with real processes. */
function serveBuilds(
  at: string,
  tree: ConstructorParameters<typeof FakePackageRegistry>[0] = {},
): Promise<BuilderServer> {
  const registry = new FakePackageRegistry(tree);
  return startBuilderServer({
    path: at,
    makeBuilder: (content) =>
      createProcessBuilder({
        content,
        packages: async () => registry,
        clock,
        logger: new FakeLogger(),
        metrics: new FakeMetrics(),
        spare: false,
      }),
    clock,
    logger: new FakeLogger(),
  });
}

/** The operator's side. Blobs can be held back. */
function operatorSide(at = file) {
  const content = new FakeContentStore({ clock });
  let held: Promise<void> | undefined;
  const requested: string[] = [];
  const store = Object.assign(Object.create(content) as FakeContentStore, {
    async get(digest: string) {
      requested.push(digest);
      await held;
      return content.get(digest);
    },
  });
  const logger = new FakeLogger();
  const builder = createBuilderClient({ path: at, content: store, clock, logger });
  return {
    content,
    builder,
    logger,
    requested,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    request: (handler: string, sources: Sources): Promise<BuildRequest> => makeRequest(content, handler, sources),
    async build(handler: string, sources: Sources, signal = never()): Promise<BuildResult> {
      return builder.build(await makeRequest(content, handler, sources), signal);
    },
  };
}

describe('a builder behind its socket', () => {
  builderContract(async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'wherry-socket-'));
    const at = path.join(home, 'builder.sock');
    const server = await serveBuilds(at);
    const { builder, content } = operatorSide(at);
    return {
      builder,
      content,
      async stop() {
        await builder.stop();
        await server.stop();
        await rm(home, { recursive: true });
      },
    };
  });
});

describe('the socket builder with the real one', () => {
  let server: BuilderServer;
  let side: ReturnType<typeof operatorSide>;
  beforeEach(() => {
    side = operatorSide();
  });
  afterEach(async () => {
    await side.builder.stop();
    await server.stop();
  });

  it('B1: is reached by its own user and group alone', async () => {
    server = await serveBuilds(file);
    expect((await stat(file)).mode & 0o777).toBe(0o660);
  });

  it('builds with packages, reports the locks, and reads them again by their digest', async () => {
    server = await serveBuilds(file, { 'node_modules/one': { 'index.js': 'exports.one = 1;' } });
    const request = await side.request('api/h.ts', {
      api: {
        'package.json': '{"dependencies":{"one":"1"}}',
        'h.ts': "import { one } from 'one'; export default () => one;",
      },
    });
    const first = await side.builder.build(request, never());
    expect(first).toMatchObject({ ok: true, revision: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const { asks, lock } = first.locks!.get('api')!;
    const { digest } = await side.content.put(Buffer.from(lock));
    const again = await side.builder.build(
      {
        ...request,
        locks: new Map([
          [
            'api',
            [
              { asks, lock: digest },
              { asks: sha256('x'), lock: sha256('gone') },
            ],
          ],
        ]),
      },
      never(),
    );
    expect(again).toEqual(first);
    expect(side.requested).toContain(digest);
  });

  it('serves several builds at once, each with its own blobs', async () => {
    server = await serveBuilds(file);
    const other = operatorSide();
    const texts = Array.from({ length: 6 }, (_, index) => `export default () => 'number ${index}';\n`);
    const results = await Promise.all(
      texts.map((text, index) => (index % 2 === 0 ? side : other).build('api/h.ts', { api: { 'h.ts': text } })),
    );
    results.forEach((result, index) =>
      expect(result.ok && Buffer.from(result.artifact).toString()).toContain(`number ${index}`),
    );
    expect(side.requested.filter((digest) => other.requested.includes(digest))).toEqual([]);
    await other.builder.stop();
  });

  it('carries large files, many at once', async () => {
    server = await serveBuilds(file);
    const names = Array.from({ length: 12 }, (_, index) => `f${index}.txt`);
    const handler = `${names.map((name, index) => `import t${index} from './${name}';`).join('\n')}\nexport default () => [${names.map((_, index) => `t${index}`).join()}].length;`;
    const result = await side.build('api/h.ts', {
      api: {
        'h.ts': handler,
        ...Object.fromEntries(names.map((name, index) => [name, `${index}`.padEnd(1_000_000, '.')])),
      },
    });
    expect(result.ok && result.artifact.length).toBeGreaterThan(12_000_000);
  }, 60_000);

  it('ends the processes of a build that is no longer wanted', async () => {
    server = await serveBuilds(file);
    side.hold();
    const abort = new AbortController();
    const result = side.build('api/hello.ts', SOURCES, abort.signal);
    result.catch(() => undefined);
    let members: number[] = [];
    await eventually(() => {
      members = buildProcesses();
      expect(members).toHaveLength(2);
    });
    abort.abort(new Error('superseded'));
    await expect(result).rejects.toThrow('superseded');
    await eventually(() => expect(groupMembers(...members)).toEqual([]));
  });

  it('forwards what the content store says of a blob', async () => {
    server = await serveBuilds(file);
    const request = await side.request('api/hello.ts', SOURCES);
    side.content.corrupt(sha256(HELLO));
    await expect(side.builder.build(request, never())).rejects.toMatchObject({ code: 'internal_error' });
    await eventually(() => expect(buildLeaders()).toEqual([]));
  });

  it('rejects when a file of the build is not stored', async () => {
    server = await serveBuilds(file);
    const request = await makeRequest(new FakeContentStore({ clock }), 'api/hello.ts', SOURCES);
    await expect(side.builder.build(request, never())).rejects.toMatchObject({ code: 'not_found' });
  });

  it('ends a connection that says nothing sensible, and goes on', async () => {
    server = await serveBuilds(file);
    for (const nonsense of ['{"type":"build"}\n', 'no json\n', '{"type":"blob","digest":"x","base64":""}\n']) {
      const socket = connect(file);
      socket.on('error', () => undefined);
      socket.write(nonsense);
      await once(socket.resume(), 'close');
    }
    expect(await side.build('api/hello.ts', SOURCES)).toMatchObject({ ok: true });
  });
});

/** A builder that somebody has taken over. */
describe('the socket builder with one that lies', () => {
  let server: Server;
  let side: ReturnType<typeof operatorSide>;
  afterEach(async () => {
    await side.builder.stop();
    server.close();
  });

  async function lying(...lines: object[]): Promise<Promise<BuildResult>> {
    const sockets = new Set<Socket>();
    server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      const channel = jsonLines(socket);
      void (async () => {
        for await (const _order of channel.messages()) for (const line of lines) channel.send(line);
      })();
    }).listen(file);
    await once(server, 'listening');
    side = operatorSide();
    await side.content.put(Buffer.from("another function's secret file"));
    return side.build('api/hello.ts', SOURCES);
  }

  const built = { type: 'built', artifact: 'export default 1;', inputs: [] };
  const input = { source: 'api', path: 'hello.ts', digest: sha256(HELLO) };

  it.each([
    ["requests a blob that is not its build's", { type: 'blob', hash: sha256("another function's secret file") }],
    ['names a file that the build does not have', { ...built, inputs: [{ ...input, path: '../x.ts' }] }],
    ['names a file by another digest', { ...built, inputs: [{ ...input, digest: sha256('x') }] }],
    [
      'names a source that the build does not have',
      { ...built, locks: [['other', { asks: sha256('a'), lock: '{}' }]] },
    ],
    ['says a digest of its own', { ...built, revision: sha256('x') }],
    ['sends too large an artifact', { ...built, artifact: 'ä'.repeat(11 * 1024 * 1024) }],
    ['gives a reason that there is not', { type: 'failed', reason: 'Because', message: '', inputs: [] }],
    ['says nothing sensible', { type: 'hello' }],
  ])('B4: takes nothing from a builder that %s', async (_what, line) => {
    const result = lying(line);
    await expect(result.then((inner) => inner)).rejects.toMatchObject({ code: 'unavailable' });
    expect(side.logger.of('error')).toHaveLength(1);
    expect(side.requested).toEqual([]);
  });

  it('B4: computes the revision itself', async () => {
    const result = await lying({ ...built, inputs: [input] });
    expect(result).toMatchObject({ ok: true, revision: sha256('export default 1;'), inputs: [input] });
  });

  it('leaves a builder that makes requests without end', async () => {
    const result = lying(...Array.from({ length: 100 }, () => ({ type: 'blob', hash: sha256(HELLO) })));
    await expect(result).rejects.toMatchObject({ code: 'unavailable' });
  });
});
