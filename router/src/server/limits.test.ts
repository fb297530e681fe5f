import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MAX_OPEN_REQUESTS } from '@wherry/service/pipeline.ts';
import { capacityOf, processResources } from '../limit/capacity.ts';
import { startCallers, type Callers, type Orders } from '../testing/callers.ts';
import { eventually, routerFunction, snapshot } from '../testing/harness.ts';
import { RouterProcess } from '../testing/router-process.ts';
import { CHECK_INTERVAL_MS } from './create-front.ts';
import { ROUTER_LIMITS } from '../limits.ts';

/** MiB by which callers may make the router grow (R12). */
const MAX_GROWTH = 64;
/** Of a machine that does much else. */
const PATIENCE_MS = 90_000;
/** Calls that grow what a router in use has grown: its heap, its connections to instances. */
const WARM_UP = 4000;
/** Calls of other callers, of which one in a thousand may fail. */
const OTHERS = 2000;
const AT_ONCE = 16;
/** What a function has where its `maxConcurrency` is null. */
const MAX_CONCURRENCY = 1000;

/** A router process, an instance in this one, and callers who take all that they can get in a third. */
class Scene {
  readonly router = RouterProcess.start();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  readonly #held: { number: string; res: ServerResponse }[] = [];
  readonly #instance: Server;
  #callers: Callers | undefined;
  #isReleased = false;
  #port = 0;
  mostHeld = 0;
  mostMiB = 0;
  mostFiles = 0;

  constructor() {
    this.#instance = createServer((req, res) => {
      const [, name, number = ''] = req.url?.split('/') ?? [];
      if (name === 'other' || this.#isReleased) return answer(number, res);
      this.#held.push({ number, res });
      this.mostHeld = Math.max(this.mostHeld, this.#held.length);
    });
  }

  /** Calls of the slow function that run. */
  get held(): number {
    return this.#held.length;
  }

  /** @param orders of the callers. @returns once the router has grown as it does in use, and the callers begin. */
  async begin(
    directory: string,
    orders: { [K in Orders as K['kind']]: Omit<K, 'port' | 'path'> }[Orders['kind']],
    target = '/run/slow',
  ): Promise<Callers> {
    const socketPath = path.join(directory, 'i.sock');
    this.#instance.listen(socketPath);
    this.#port = await this.router.listening();
    const instances = [{ id: 'i', revision: 'r1', address: { path: socketPath }, token: 't' }];
    const fields = { timeoutMs: 600_000, maxConcurrency: MAX_CONCURRENCY, instances };
    await this.router.apply(
      snapshot(
        1,
        [
          { id: 'slow', ...fields },
          { id: 'other', ...fields },
          { id: 'starting', timeoutMs: 3000, instances: [] },
        ].map((fn) => routerFunction({ route: `/${fn.id}/*`, ...fn })),
      ),
    );
    await this.failures(WARM_UP);
    [this.mostMiB, this.mostFiles] = [0, 0];
    this.#callers = startCallers({ ...orders, port: this.#port, path: target });
    return this.#callers;
  }

  /** Makes calls of the other function, on connections that are kept, or each on a new one. @returns how many failed. */
  async failures(count: number, agent: Agent | false = this.#agent): Promise<number> {
    let failed = 0;
    for (let done = 0; done < count; done += AT_ONCE) {
      const statuses = await Promise.all(Array.from({ length: AT_ONCE }, () => this.#call(agent).catch(() => 0)));
      failed += statuses.filter((status) => status !== 200).length;
      if (done % 160 === 0) this.measure();
    }
    return failed;
  }

  /** The slow function answers all calls, those to come too. */
  release(): void {
    this.#isReleased = true;
    for (const { number, res } of this.#held.splice(0)) answer(number, res);
  }

  measure(): void {
    this.mostMiB = Math.max(this.mostMiB, this.router.memoryMiB());
    this.mostFiles = Math.max(this.mostFiles, this.router.openFiles());
  }

  async end(): Promise<void> {
    await this.#callers?.stop();
    this.#agent.destroy();
    await this.router.kill();
    this.#instance.closeAllConnections();
    this.#instance.close();
  }

  async #call(agent: Agent | false): Promise<number> {
    const req = request({ host: '127.0.0.1', port: this.#port, path: '/run/other/x', agent }).end();
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    await once(res.resume(), 'end');
    return res.statusCode ?? 0;
  }
}

function answer(number: string, res: ServerResponse): void {
  res.writeHead(200, ['X-Call', number]).end('ok');
}

describe('callers who take all that they can get', () => {
  let directory: string;
  let scene: Scene;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-router-limits-'));
    scene = new Scene();
  });
  afterEach(async () => {
    await scene.end();
    await rm(directory, { recursive: true, force: true });
  });

  it(
    'R12: 20,000 pipelined calls to a slow function on one socket wait there, disturb no other function, and are answered in order',
    async () => {
      const calls = 20_000;
      const callers = await scene.begin(directory, { kind: 'pipeline', calls });
      const before = scene.router.memoryMiB();
      await eventually(() => scene.held === MAX_OPEN_REQUESTS, PATIENCE_MS);
      expect(await scene.failures(OTHERS)).toBeLessThanOrEqual(OTHERS / 1000);
      expect(scene.mostHeld).toBe(MAX_OPEN_REQUESTS);
      scene.release();
      await eventually(() => callers.progress.inOrder === calls, PATIENCE_MS);
      scene.measure();
      expect(callers.progress).toEqual({
        opened: 1,
        closed: 0,
        unanswered: 0,
        statuses: { 200: calls },
        inOrder: calls,
      });
      expect(scene.mostMiB - before).toBeLessThanOrEqual(MAX_GROWTH);
    },
    2 * PATIENCE_MS,
  );

  it(
    'R12: 5,000 connections from one address, each with a call to a slow function, disturb no other function, of the same address either',
    async () => {
      const sockets = 5000;
      const callers = await scene.begin(directory, { kind: 'connections', sockets });
      const before = { miB: scene.router.memoryMiB(), files: scene.router.openFiles() };
      let made = 0;
      let failed = 0;
      /** Each has its call running, was refused, or has lost its connection to a later one. */
      const isOver = (): boolean => {
        const { opened, unanswered, statuses } = callers.progress;
        const refused = Object.values(statuses).reduce((sum, count) => sum + count, 0);
        return (
          opened === sockets && scene.held === MAX_CONCURRENCY && refused + unanswered === sockets - MAX_CONCURRENCY
        );
      };
      for (; made < OTHERS || !isOver(); made += 160) failed += await scene.failures(160);
      expect(failed).toBeLessThanOrEqual(made / 1000);
      expect(scene.mostHeld).toBe(MAX_CONCURRENCY);
      expect(scene.mostMiB - before.miB).toBeLessThanOrEqual(MAX_GROWTH);
      const { connectionsPerAddress } = capacityOf(processResources());
      expect(scene.mostFiles - before.files).toBeLessThanOrEqual(connectionsPerAddress + MAX_CONCURRENCY + AT_ONCE);
      scene.release();
      await eventually(() => callers.progress.statuses[200] === MAX_CONCURRENCY, PATIENCE_MS);
    },
    2 * PATIENCE_MS,
  );

  it(
    'R12: 5,000 connections from one address, each with the largest head, unfinished, take no more memory than others, and are gone in time',
    async () => {
      const sockets = 5000;
      const callers = await scene.begin(directory, { kind: 'heads', sockets });
      const before = scene.router.memoryMiB();
      let made = 0;
      let failed = 0;
      for (; callers.progress.closed < sockets; made += 160) failed += await scene.failures(160);
      expect(callers.progress.opened).toBe(sockets);
      expect(failed).toBeLessThanOrEqual(made / 1000);
      expect(scene.mostMiB - before).toBeLessThanOrEqual(MAX_GROWTH);
    },
    2 * PATIENCE_MS,
  );

  it(
    'R12: 6,000 connections from one address whose calls are refused while their bodies never end fail no call of the same address, on new connections',
    async () => {
      const sockets = 6_000;
      const callers = await scene.begin(directory, { kind: 'bodies', sockets }, '/run/nothing');
      let failed = 0;
      for (let made = 0; made < OTHERS || callers.progress.closed < sockets; made += 160)
        failed += await scene.failures(160, false);
      expect(callers.progress.opened).toBe(sockets);
      expect(Object.keys(callers.progress.statuses)).toEqual(['404']);
      expect(failed).toBe(0);
    },
    2 * PATIENCE_MS,
  );

  it(
    'R12: 60 connections whose bodies come in chunks of a byte, while their function starts, take no more memory than others',
    async () => {
      const sockets = 60;
      const callers = await scene.begin(directory, { kind: 'chunks', sockets }, '/run/starting/x');
      const before = scene.router.memoryMiB();
      let failed = 0;
      /** No instance comes within the function's timeout. */
      const isOver = (): boolean => {
        const { unanswered, statuses } = callers.progress;
        return Object.values(statuses).reduce((sum, count) => sum + count, unanswered) >= sockets;
      };
      while (!isOver()) failed += await scene.failures(160);
      expect(failed).toBe(0);
      expect(callers.progress.statuses).toEqual({ 503: sockets });
      expect(scene.mostMiB - before).toBeLessThanOrEqual(MAX_GROWTH);
    },
    2 * PATIENCE_MS,
  );

  it(
    'R11: 5,000 sockets that send a byte a second disturb no other caller, and are gone in time',
    async () => {
      const sockets = 5000;
      const callers = await scene.begin(directory, { kind: 'drip', sockets });
      let made = 0;
      let failed = 0;
      for (; callers.progress.closed < sockets; made += 160) failed += await scene.failures(160);
      expect(callers.progress.opened).toBe(sockets);
      expect(failed).toBeLessThanOrEqual(made / 1000);
      // The router's own clock ends them: a head's time, and the time between two looks at it.
      expect(ROUTER_LIMITS.headMs + CHECK_INTERVAL_MS).toBeLessThan(15_000);
    },
    2 * PATIENCE_MS,
  );
});
