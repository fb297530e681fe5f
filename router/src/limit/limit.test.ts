import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { DEFAULT_MAX_CONCURRENCY } from '@wherry/core/resources/function.ts';
import { eventually, Harness, readUntil, routerFunction } from '../testing/harness.ts';
import type { Chain } from '../chain.ts';
import { CallBudget } from './call-budget.ts';
import { capacityOf, openFilesLimit, processResources } from './capacity.ts';
import { networkOf } from '@wherry/service/network-of.ts';

type Held = Parameters<Chain>[1];
const MIB = 1024 * 1024;

/** Takes calls of a function until there is no slot. @returns how many. */
function take(budget: CallBudget, fn: object, client: () => string): number {
  let taken = 0;
  while (budget.acquire(fn, client()) !== undefined) taken++;
  return taken;
}

describe('CallBudget', () => {
  it('R12: one function takes half of all, further ones as much as they leave, and there is always room for another', () => {
    const budget = new CallBudget(1024);
    let caller = 0;
    const taken = Array.from({ length: 5 }, () => take(budget, {}, () => `192.0.2.${caller++}`));
    expect(taken).toEqual([512, 256, 128, 64, 32]);
    expect(budget.acquire({}, '198.51.100.1')).toBeDefined();
  });

  it('R12: one caller takes three quarters of all, over however many functions, and leaves the rest to others', () => {
    const budget = new CallBudget(1024);
    let taken = 0;
    for (let fn = 0; fn < 100; fn++) taken += take(budget, {}, () => '192.0.2.1');
    expect(taken).toBe(768);
    expect(take(budget, {}, () => '198.51.100.1')).toBe(128);
  });

  it('R12: a /64 of IPv6 is one caller, and slots that are released can be taken again', () => {
    const budget = new CallBudget(4);
    const leave = [1, 2, 3].map((n) => budget.acquire({}, `2001:db8::${n}`));
    expect(budget.acquire({}, '2001:db8::4')).toBeUndefined();
    leave.forEach((give) => give?.());
    expect(budget.inFlight).toBe(0);
    expect(budget.acquire({}, '2001:db8::4')).toBeDefined();
    expect(networkOf('192.0.2.1')).toBe('192.0.2.1');
  });
});

describe('capacity', () => {
  it("R12: with the chart's memory, functions at their default limit are two, and leave room for a third", () => {
    const values = readFileSync(new URL('../../../charts/wherry/values.yaml', import.meta.url), 'utf8');
    const memory = Number(/^router:\n[^]*?\n {4}limits:\n {6}memory: (\d+)Mi\n/m.exec(values)?.[1]) * MIB;
    expect(capacityOf({ memory, descriptors: 1_048_576 }).calls).toBeGreaterThan(2 * DEFAULT_MAX_CONCURRENCY);
  });

  it.each([
    [
      'the chart gives it 512 MiB',
      { memory: 512 * MIB, descriptors: 1_048_576 },
      { calls: 2503, connections: 5006, connectionsPerAddress: 1252, idlePerAddress: 313, upstreams: 2503 },
    ],
    [
      'it has few files',
      { memory: 4096 * MIB, descriptors: 1024 },
      { calls: 224, connections: 448, connectionsPerAddress: 112, idlePerAddress: 28, upstreams: 224 },
    ],
    [
      'it has much of both',
      { memory: 65_536 * MIB, descriptors: 1_048_576 },
      { calls: 4096, connections: 8192, connectionsPerAddress: 2048, idlePerAddress: 512, upstreams: 4096 },
    ],
    [
      'it has hardly anything',
      { memory: 64 * MIB, descriptors: 64 },
      { calls: 16, connections: 32, connectionsPerAddress: 8, idlePerAddress: 2, upstreams: 16 },
    ],
  ])('R12: stays below what the process may have: %s', (_title, resources, capacity) => {
    expect(capacityOf(resources)).toEqual(capacity);
  });

  it('R12: files for every connection that it allows are fewer than those that it may open', () => {
    for (const descriptors of [256, 1024, 4096, 20_000]) {
      const { connections, upstreams } = capacityOf({ memory: 65_536 * MIB, descriptors });
      expect(connections + upstreams).toBeLessThan(descriptors);
    }
  });

  it.each([
    ['Max open files            1024                 524288               files     \n', 1024],
    [
      'Max processes   1   1   processes\nMax open files            unlimited            unlimited            files     \n',
      Number.MAX_SAFE_INTEGER,
    ],
  ])('reads the limit on open files', (text, expected) => {
    expect(openFilesLimit(text)).toBe(expected);
    expect(processResources().descriptors).toBeGreaterThan(64);
  });
});

describe('a router with little room', () => {
  let harness: Harness;
  let held: Held[];
  const serve = async (
    capacity: { calls: number; upstreams?: number },
    trustedProxies: string[] = [],
  ): Promise<void> => {
    held = [];
    const most = { connections: 100, connectionsPerAddress: 100, idlePerAddress: 100, upstreams: 100, ...capacity };
    harness = await Harness.start({ capacity: most, trustedProxies });
    const listener: Parameters<Harness['instance']>[0] = (req, res) =>
      void (req.url?.includes('hold') === true ? held.push(res) : res.end('ok'));
    const names = ['a', 'b', 'c'];
    const instances = await Promise.all(names.map((id) => harness.instance(listener, id)));
    await harness.serve(names.map((id, at) => routerFunction({ id, route: `/${id}`, instances: [instances[at]!] })));
  };
  afterEach(() => harness.stop());
  const release = (): void => held.splice(0).forEach((res) => res.end('held'));

  it('R12: refuses calls that would leave no room for other functions, and takes them when there is room again', async () => {
    await serve({ calls: 4 });
    const slow = [harness.call('/run/a?hold'), harness.call('/run/a?hold')];
    await eventually(() => held.length === 2);
    const refused = await harness.call('/run/a');
    expect([refused.status, refused.error.code, refused.headers['retry-after']]).toEqual([503, 'overloaded', '1']);
    expect((await harness.call('/run/b')).body).toBe('ok');
    expect(harness.metrics.value('invocation_failures_total', { component: 'router', reason: 'overloaded' })).toBe(1);
    release();
    await Promise.all(slow);
    expect((await harness.call('/run/a')).body).toBe('ok');
  });

  it('R12: distinguishes callers behind a trusted proxy', async () => {
    await serve({ calls: 4 }, ['127.0.0.1']);
    const from = (client: string, target: string) => harness.call(target, { headers: { 'X-Forwarded-For': client } });
    const slow = ['/run/a?hold', '/run/a?hold', '/run/b?hold'].map((target) => from('192.0.2.1', target));
    await eventually(() => held.length === 3);
    expect((await from('192.0.2.1', '/run/c')).error.code).toBe('overloaded');
    expect((await from('192.0.2.2', '/run/c')).body).toBe('ok');
    release();
    await Promise.all(slow);
  });

  it('R12: an answer that its caller does not read keeps its slot until the connection ends', async () => {
    await serve({ calls: 2 });
    const socket = harness.connect();
    socket.pause().write('GET /run/a?hold HTTP/1.1\r\nHost: a\r\n\r\n');
    await eventually(() => held.length === 1);
    held.splice(0).forEach((res) => res.end(Buffer.alloc(16 * MIB)));
    expect((await harness.call('/run/a')).error.code).toBe('overloaded');
    socket.destroy();
    await eventuallyOk('/run/a');
  });

  it("R12: calls that are answered count as their function's until they are read", async () => {
    await serve({ calls: 8 });
    const socket = harness.connect();
    let seen = '';
    socket.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    // The first is answered last: the answers of the others wait behind it, and their instance is done with them.
    const get = (target: string): string => `GET /run/${target} HTTP/1.1\r\nHost: a\r\n\r\n`;
    socket.write(get('b?hold') + get('a').repeat(5));
    await eventually(() => harness.logs('exec_end').length === 4 && harness.logs('exec_reject').length === 1);
    expect((await harness.call('/run/a')).error.code).toBe('overloaded');
    expect((await harness.call('/run/c')).body).toBe('ok');
    release();
    await eventually(() => (seen.match(/HTTP\/1.1 200/g) ?? []).length === 5);
    expect(seen.match(/HTTP\/1.1 503/g)).toHaveLength(1);
    expect((await harness.call('/run/a')).body).toBe('ok');
    socket.destroy();
  });

  it('R12: keeps no more connections to instances than it may have, of all functions together', async () => {
    await serve({ calls: 100, upstreams: 2 });
    let open = 0;
    harness.onInstanceConnection((change) => (open += change));
    for (const name of ['a', 'b', 'c', 'a', 'b', 'c']) expect((await harness.call(`/run/${name}`)).body).toBe('ok');
    await eventually(() => open <= 2);
    const slow = ['a', 'b', 'c'].map((name) => harness.call(`/run/${name}?hold`));
    await eventually(() => held.length === 3);
    release();
    expect((await Promise.all(slow)).map(({ body }) => body)).toEqual(['held', 'held', 'held']);
  });

  async function eventuallyOk(target: string): Promise<void> {
    for (;;) {
      const { status } = await harness.call(target);
      if (status === 200) return;
    }
  }
});

describe('the calls of one connection', () => {
  let harness: Harness;
  let held: [url: string, res: Held][];
  const start = async (front: { headersTimeoutMs?: number } = {}): Promise<void> => {
    held = [];
    harness = await Harness.start({ front });
    const instance = await harness.instance((req, res) => {
      let body = '';
      req.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      req.on('end', () =>
        req.url?.includes('hold') === true ? held.push([req.url, res]) : res.end(`<${req.url?.slice(7)}${body}>`),
      );
    });
    await harness.serve([routerFunction({ route: '/hello/*', instances: [instance] })]);
  };
  afterEach(() => harness.stop());
  const get = (name: string): string => `GET /run/hello/${name} HTTP/1.1\r\nHost: a\r\n\r\n`;
  const post = (name: string, body: string): string =>
    `POST /run/hello/${name} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const bodies = (text: string): string[] => text.match(/<[^>]*>/g) ?? [];

  it('R12: eight are open, the others wait and are answered in order, bodies and refusals too', async () => {
    await start();
    const socket = harness.connect();
    const names = Array.from({ length: 3000 }, (_, n) => `${n}`);
    const large = 'x'.repeat(100_000);
    socket.write(Array.from({ length: 9 }, (_, n) => get(`hold${n}`)).join(''));
    socket.write(
      names.map((name, n) => (n % 3 === 0 ? post(name, '+') : n % 100 === 1 ? get(`%2f${name}`) : get(name))).join('') +
        post('last', large),
    );
    await eventually(() => held.length === 8);
    const text = readUntil(socket, /<last/);
    for (let n = 0; n < 9; n++) {
      await eventually(() => held.some(([url]) => url.endsWith(`hold${n}`)));
      held.find(([url]) => url.endsWith(`hold${n}`))?.[1].end(`<hold${n}>`);
    }
    const expected = names.flatMap((name, n) => (n % 3 === 0 ? [`<${name}+>`] : n % 100 === 1 ? [] : [`<${name}>`]));
    expect(bodies(await text)).toEqual([...Array.from({ length: 9 }, (_, n) => `<hold${n}>`), ...expected]);
    expect(held).toHaveLength(9);
  });

  it('R12: end with it, those too whose turn to be answered has not come', async () => {
    await start();
    const socket = harness.connect();
    socket.write(Array.from({ length: 8 }, (_, n) => get(`hold${n}`)).join(''));
    await eventually(() => held.length === 8);
    const ended = Promise.all(held.map(([, res]) => once(res, 'close')));
    socket.destroy();
    await ended;
    await eventually(() => harness.logs('exec_end').length === 8);
    expect(harness.metrics.value('function_inflight', { function_name: 'hello' })).toBe(0);
    expect((await harness.call('/run/hello/x')).body).toBe('<x>');
    expect(held).toHaveLength(8);
  });

  it('R11, R12: a head that the router itself left unread is not late, and is when it does not come afterwards', async () => {
    await start({ headersTimeoutMs: 300 });
    const socket = harness.connect();
    // More than Node reads at once, so that it ends inside of a head.
    const count = 3000;
    socket.write(
      Array.from({ length: 8 }, (_, n) => get(`hold${n}`)).join('') +
        Array.from({ length: count }, (_, n) => get(String(n))).join('') +
        'GET /run/hello/',
    );
    await eventually(() => held.length === 8);
    // When a head that began later is late, that one has been looked at.
    const late = harness.connect();
    late.write('GET /run/hello/late HTTP/1.1\r\n');
    expect(await readUntil(late)).toMatch(/^HTTP\/1.1 408 /);
    for (const [, res] of held) res.end();
    const text = await readUntil(socket);
    expect(bodies(text).slice(0, count)).toEqual(Array.from({ length: count }, (_, n) => `<${n}>`));
  });
});
