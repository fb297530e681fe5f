import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compileCache } from '@wherry/testing/compile-cache.ts';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { quietPort } from '@wherry/testing/quiet-port.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createBuilderClient } from './socket/builder-client.ts';
import { makeRequest, type Sources } from './testing/build-bench.ts';

const SOURCES: Sources = { api: { 'hello.ts': "export default (c) => c.text('hello');\n" } };
const PROGRAM = path.join(import.meta.dirname, 'main.ts');
const never = (): AbortSignal => new AbortController().signal;

let folder: string;
let socket: string;
const started: ChildProcess[] = [];
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-builder-'));
  socket = path.join(folder, 'builder.sock');
});
afterEach(async () => {
  for (const child of started.splice(0))
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

interface Program {
  child: ChildProcess;
  exited: Promise<unknown[]>;
  said: () => string;
}

function start(environment: Record<string, string> = {}, ...args: string[]): Program {
  const env = {
    WHERRY_BUILDER_SOCKET: socket,
    WHERRY_INSTALLER_SOCKET: path.join(folder, 'installer.sock'),
    WHERRY_CACHE_DIR: path.join(folder, 'cache'),
    OPS_PORT: '0',
    CANARY_SECRET: 'canary',
    ...compileCache,
    ...environment,
  };
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  started.push(child);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  return { child, exited: once(child, 'exit'), said: () => said };
}

/** The operator's side of it, which can hold its blobs back. */
function operatorSide() {
  const content = new FakeContentStore({ clock });
  let held: Promise<void> | undefined;
  const store = Object.assign(Object.create(content) as FakeContentStore, {
    async get(digest: string) {
      await held;
      return content.get(digest);
    },
  });
  const builder = createBuilderClient({ path: socket, content: store, clock, logger: new FakeLogger() });
  return {
    builder,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    build: async (text?: string) =>
      builder.build(
        await makeRequest(content, 'api/hello.ts', text === undefined ? SOURCES : { api: { 'hello.ts': text } }),
        never(),
      ),
  };
}

/** Whoever has this process as its parent, or grandparent. */
function below(parent: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent ? [Number(name)] : [];
      } catch {
        return [];
      }
    });
  return children.flatMap((pid) => [pid, ...below(pid)]);
}

const lives = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
};

describe('the builder as a program', () => {
  it('cannot try a build while which it is killed, leaves no process behind, and tries the next one once it is back', async () => {
    const program = start();
    const side = operatorSide();
    const release = side.hold();
    const inFlight = side.build();
    inFlight.catch(() => undefined);
    let processes: number[] = [];
    await eventually(() => {
      processes = below(program.child.pid!);
      expect(processes.length).toBeGreaterThanOrEqual(2);
    });
    program.child.kill('SIGKILL');
    await expect(inFlight).rejects.toMatchObject({ code: 'unavailable' });
    await eventually(() => expect(processes.filter(lives)).toEqual([]));
    release();
    // Its socket lies there still, and nobody listens on it.
    const waiting = side.build();
    start();
    expect(await waiting).toMatchObject({ ok: true });
    await side.builder.stop();
  }, 40_000);

  it('B1: gives a build nothing of its environment, with the same user as its own', async () => {
    const program = start();
    const side = operatorSide();
    const release = side.hold();
    const building = side.build();
    let processes: number[] = [];
    await eventually(() => {
      processes = below(program.child.pid!);
      expect(processes.length).toBeGreaterThanOrEqual(2);
    });
    for (const pid of processes) {
      expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).not.toMatch(/canary|WHERRY/);
      expect(readFileSync(`/proc/${pid}/cmdline`, 'latin1')).not.toMatch(/canary|builder\.sock/);
    }
    release();
    expect(await building).toMatchObject({ ok: true });
    await side.builder.stop();
  }, 30_000);

  it('serves its metrics and that it is ready, and ends with all its processes on SIGTERM', async () => {
    const port = await quietPort();
    const program = start({ OPS_PORT: String(port) });
    const side = operatorSide();
    expect(await side.build()).toMatchObject({ ok: true });
    const get = async (target: string) => (await fetch(`http://127.0.0.1:${port}${target}`)).text();
    expect(await get('/readyz')).toBe('ok\n');
    expect(await get('/metrics')).toMatch(/^wherry_build_processes_total\{start="cold"\} 1$/m);
    const processes = below(program.child.pid!);
    program.child.kill('SIGTERM');
    expect(await program.exited).toEqual([0, null]);
    expect(processes.filter(lives)).toEqual([]);
    await expect(stat(socket)).rejects.toMatchObject({ code: 'ENOENT' });
    await side.builder.stop();
  }, 30_000);

  it("B1: has no use for the registry's token, which the installer beside it does not show", async () => {
    const registry = createServer((_request, response) => response.writeHead(404).end()).listen(0, '127.0.0.1');
    await once(registry, 'listening');
    const { port } = registry.address() as { port: number };
    const opsPort = await quietPort();
    const installer = start(
      {
        WHERRY_NPM_REGISTRY: `http://127.0.0.1:${port}/`,
        WHERRY_NPM_TOKEN: 'canary-token',
        OPS_PORT: String(opsPort),
        WHERRY_LOG_LEVEL: 'debug',
      },
      'installer',
    );
    const builder = start();
    const side = operatorSide();
    const requested = once(registry, 'request') as Promise<[IncomingMessage]>;
    expect(await side.build("import one from 'npm:one@1'; export default () => one;")).toMatchObject({
      ok: false,
      reason: 'PackageNotFound',
    });
    expect((await requested)[0].headers.authorization).toBe('Bearer canary-token');
    for (const pid of [builder.child.pid!, ...below(builder.child.pid!)])
      expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).not.toContain('canary-token');
    // The process that calls the registry has the token over its pipe.
    const [requester, ...more] = below(installer.child.pid!).filter((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('wherry-install-'),
    );
    expect(more).toEqual([]);
    expect(readFileSync(`/proc/${requester}/environ`, 'latin1')).not.toContain('canary');
    expect((await fetch(`http://127.0.0.1:${opsPort}/readyz`)).status).toBe(200);
    installer.child.kill('SIGTERM');
    expect(await installer.exited).toEqual([0, null]);
    expect(installer.said() + builder.said()).not.toContain('canary-token');
    await side.builder.stop();
    registry.close();
  }, 30_000);

  it('names each bad variable, and does not show the values', async () => {
    const program = start({ OPS_PORT: 'many', WHERRY_NPM_REGISTRY: 'ftp://canary' }, 'installer');
    expect(await program.exited).toEqual([1, null]);
    expect(program.said()).toMatch(/OPS_PORT: must be a port number/);
    expect(program.said()).toMatch(/WHERRY_NPM_REGISTRY: must be an http/);
    expect(program.said()).not.toContain('canary');
  });
});
