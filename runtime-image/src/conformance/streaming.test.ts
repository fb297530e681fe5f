import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { useInstances } from '../testing/use-instances.ts';

const { started, stopAll } = useInstances();
afterEach(stopAll);

/** The pieces of an answer, as they come. */
function pieces(incoming: IncomingMessage): () => Promise<string> {
  const iterator = incoming[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  return async () => (await iterator.next()).value?.toString() ?? '(end)';
}

/** Streams a tick each few ms until it is cancelled, and says so in the log. */
const TICKS = `const ticks = (signal) => { let timer; return new ReadableStream({
  start(s) { timer = setInterval(() => s.enqueue(new TextEncoder().encode('tick ')), 5); },
  cancel(reason) { clearInterval(timer); console.log('cancelled', signal?.aborted, signal?.reason?.name); } }); };`;

describe('answers', () => {
  it('go out piece by piece, as the handler makes them', async () => {
    const instance =
      await started(`let next; export default (c) => { if (c.req.path === '/go') { next(); return c.text(''); }
      return new Response(new ReadableStream({ start(s) { s.enqueue(new TextEncoder().encode('one')); next = () => { s.enqueue(new TextEncoder().encode('two')); s.close(); }; } })); }`);
    const next = pieces(await instance.open());
    expect(await next()).toBe('one');
    await instance.call({ path: '/go' });
    expect(await next()).toBe('two');
    expect(await next()).toBe('(end)');
  });

  it('are made no faster than the caller reads', async () => {
    const instance =
      await started(`let made = 0; export default (c) => { if (c.req.path === '/made') return c.text(String(made));
      return new Response(new ReadableStream({ pull(s) { made += 1; s.enqueue(new Uint8Array(65536)); } })); }`);
    const stream = await instance.open();
    await once(stream, 'readable');
    const made = async (): Promise<number> => Number((await instance.call({ path: '/made' })).body);
    let before = -1;
    for (let now = await made(); now !== before; now = await made()) before = now;
    expect(before).toBeLessThan(200);
    stream.destroy();
  });

  it('are cut, the source cancelled and the signal aborted, when the caller goes away', async () => {
    const instance = await started(`${TICKS} export default (c, ctx) => new Response(ticks(ctx.signal));`);
    const stream = await instance.open();
    await once(stream, 'data');
    stream.destroy();
    await instance.until(() => instance.logs.length > 0);
    expect(instance.logs).toMatchObject([{ message: 'cancelled', args: '[true,"AbortError"]' }]);
  });

  it('are cut when their source breaks', async () => {
    const instance = await started(
      `export default () => new Response(new ReadableStream({ pull(s) { if (this.n) throw new Error('broke'); this.n = 1; s.enqueue(new Uint8Array(3)); } }))`,
    );
    await expect(instance.call()).rejects.toThrow(/aborted/);
    await instance.until(() => instance.logs.length > 0);
    expect(instance.logs).toMatchObject([
      { level: 'error', message: expect.stringContaining('broke'), requestId: 'r-1' },
    ]);
  });
});

describe('requests', () => {
  it('are read while the caller still writes', async () => {
    const instance =
      await started(`export default async (c) => { const reader = c.req.raw.body.getReader(); const { value } = await reader.read();
      return new Response(new ReadableStream({ async start(s) { s.enqueue(value); for (;;) { const { done, value } = await reader.read(); if (done) break; s.enqueue(value); } s.close(); } })); }`);
    const outgoing = instance.begin({ method: 'POST' });
    outgoing.write('ping');
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    const next = pieces(incoming);
    expect(await next()).toBe('ping');
    outgoing.end('pong');
    expect(await next()).toBe('pong');
  });

  it('reject where the caller breaks off', async () => {
    const instance = await started(
      `export default (c) => c.req.text().then(() => console.log('whole'), (error) => console.log('broken', c.req.raw.signal.aborted)).then(() => c.text('x'));`,
    );
    const outgoing = instance.begin({ method: 'POST', headers: { 'content-length': 100 } });
    outgoing.on('error', () => undefined);
    outgoing.write('half');
    await instance.call({ method: 'POST', body: 'x' });
    outgoing.destroy();
    await instance.until(() => instance.logs.length > 1);
    expect(instance.logs.map(({ message }) => message)).toEqual(['whole', 'broken']);
  });
});

describe('the timeout', () => {
  it("counts from the request's arrival at the router", async () => {
    const instance = await started(`export default () => new Promise(() => {})`);
    const before = machineTime();
    const reply = await instance.call({ context: { requestedAt: Date.now() - 60_000, timeoutMs: 60_050 } });
    expect(reply.status).toBe(504);
    expect(machineTime() - before).toBeLessThan(5000);
  });

  it('leaves the instance alive, and the late answer unused', async () => {
    const instance = await started(
      `let late; export default (c) => c.req.path === '/late' ? (late(), c.text('called')) : new Promise((resolve) => { late = () => resolve(c.text('too late')); })`,
    );
    expect((await instance.call({ context: { timeoutMs: 50 } })).status).toBe(504);
    expect((await instance.call({ path: '/late' })).body).toBe('called');
    expect((await instance.call({ path: '/late' })).body).toBe('called');
  });
});
