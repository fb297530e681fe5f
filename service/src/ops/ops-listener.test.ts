import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { quietPort } from '@wherry/testing/quiet-port.ts';
import { createMetrics } from '../metrics.ts';
import { startOpsListener, type OpsListener, type OpsListenerOptions } from './ops-listener.ts';

describe('the ops listener', () => {
  let listener: OpsListener | undefined;
  afterEach(() => listener?.close());

  const { metrics, registry } = createMetrics();
  const logger = new FakeLogger();
  const clock = new FakeClock();
  async function start(options: Partial<OpsListenerOptions> = {}): Promise<OpsListener> {
    return (listener = await startOpsListener({
      port: 0,
      host: '127.0.0.1',
      registry,
      readyz: () => undefined,
      clock,
      logger,
      ...options,
    }));
  }
  async function get(path: string, method = 'GET'): Promise<[number, string, string | null]> {
    const response = await fetch(`http://127.0.0.1:${listener?.port}${path}`, { method });
    return [response.status, await response.text(), response.headers.get('content-type')];
  }

  it('prints the metrics, with their help and labels', async () => {
    metrics
      .counter({ type: 'counter', name: 'tests_total', help: 'Tests that ran.', labels: ['result'] })
      .inc({ result: 'good' }, 2);
    await start();
    const [status, text, type] = await get('/metrics?x=1');
    expect([status, type]).toEqual([200, registry.contentType]);
    expect(text).toContain(
      '# HELP wherry_tests_total Tests that ran.\n# TYPE wherry_tests_total counter\nwherry_tests_total{result="good"} 2\n',
    );
  });

  it('prints those of other processes under paths of their own; one that cannot be read takes none else along', async () => {
    const text = (name: string) => ({ contentType: 'text/plain', metrics: async () => Promise.resolve(`${name} 1\n`) });
    const gone = { contentType: 'text/plain', metrics: async () => Promise.reject(new Error('it is gone')) };
    await start({ more: { '/metrics/router': text('calls'), '/metrics/gone': gone } });
    expect((await get('/metrics/router')).slice(0, 2)).toEqual([200, 'calls 1\n']);
    expect((await get('/metrics/gone')).slice(0, 2)).toEqual([503, 'The metrics cannot be read at the moment.\n']);
    expect((await get('/metrics'))[0]).toBe(200);
    expect((await get('/nope')).slice(0, 2)).toEqual([
      404,
      'Not found. There are /metrics, /metrics/router, /metrics/gone, /livez and /readyz.\n',
    ]);
  });

  it('says whether it is alive, and whether it is ready, or why not', async () => {
    let problem: string | undefined = 'there is no snapshot yet';
    await start({ readyz: () => problem });
    expect((await get('/livez')).slice(0, 2)).toEqual([200, 'ok\n']);
    expect((await get('/readyz')).slice(0, 2)).toEqual([503, 'there is no snapshot yet\n']);
    problem = undefined;
    await clock.advance(1500);
    expect((await get('/readyz')).slice(0, 2)).toEqual([200, 'ok\n']);
    await get('/readyz');
    expect(logger.of('info').map(({ fields, message }) => ({ ...fields, message }))).toEqual([
      { reason: 'there is no snapshot yet', message: 'not ready' },
      { afterSeconds: 1.5, message: 'ready' },
    ]);
  });

  it('says when a restart would help', async () => {
    await start({ livez: () => 'it is stuck' });
    expect((await get('/livez')).slice(0, 2)).toEqual([503, 'it is stuck\n']);
  });

  it('answers nothing else', async () => {
    await start();
    expect((await get('/')).slice(0, 2)).toEqual([404, 'Not found. There are /metrics, /livez and /readyz.\n']);
    expect((await get('/metrics', 'POST'))[0]).toBe(405);
  });

  it('names a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await expect(start({ port })).rejects.toThrow(
      `OPS_PORT: cannot listen on 127.0.0.1:${port}: it is in use (EADDRINUSE). Stop the program that listens there, or set another port.`,
    );
    other.close();
  });

  it('closes at once, whoever still holds a connection', async () => {
    await start({ port: await quietPort() });
    await get('/livez');
    await listener?.close();
    await expect(get('/livez')).rejects.toThrow('fetch failed');
    listener = undefined;
  });

  describe('bounds what unknown callers cost (M10)', () => {
    const sockets: Socket[] = [];
    afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));

    const open = async (): Promise<Socket> => {
      const socket = connect(listener?.port ?? 0, '127.0.0.1');
      sockets.push(socket);
      await once(socket, 'connect');
      // One that makes room for another may be reset.
      return socket.on('error', () => undefined).resume();
    };
    /** Metrics whose reading ends when the test says so. */
    const held = () => {
      const waiting: (() => void)[] = [];
      const metricsText = () => new Promise<string>((resolve) => waiting.push(() => resolve('calls 1\n')));
      return { waiting, registry: { contentType: 'text/plain', metrics: metricsText } };
    };

    it('by answering one request of a connection at a time', async () => {
      const source = held();
      let looks = 0;
      const livez = (): undefined => void looks++;
      await start({ registry: source.registry, livez });
      const socket = await open();
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const head = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
      socket.write(head('/metrics') + head('/livez').repeat(2000) + head('/last'));
      await eventually(() => expect(source.waiting).toHaveLength(1));
      expect((await get('/readyz'))[0]).toBe(200);
      expect(looks).toBe(0);
      source.waiting[0]?.();
      await eventually(() => expect(text).toContain('HTTP/1.1 404'));
      expect(looks).toBe(2000);
    });

    it('by reading metrics once for all who ask meanwhile, and for no other method', async () => {
      const source = held();
      await start({ registry: source.registry });
      const ask = async (): Promise<Promise<unknown[]>[]> => {
        const url = `http://127.0.0.1:${listener?.port}/metrics`;
        const sent = request(url, { headers: { Expect: '100-continue' }, agent: false }).end();
        const answered = once(sent, 'response');
        await once(sent, 'continue');
        return [answered];
      };
      const answers = (await Promise.all(Array.from({ length: 20 }, ask))).flat();
      expect(source.waiting).toHaveLength(1);
      source.waiting[0]?.();
      for (const [answer] of await Promise.all(answers)) expect(answer).toHaveProperty('statusCode', 200);
      expect((await get('/metrics', 'POST'))[0]).toBe(405);
      expect(source.waiting).toHaveLength(1);
    });

    it('by closing connections that do nothing for new ones', async () => {
      await start();
      const idle: Socket[] = [];
      for (let count = 0; count < 40; count++) idle.push(await open());
      expect((await get('/livez'))[0]).toBe(200);
      await eventually(() => expect(idle.slice(0, 9).map(({ closed }) => closed)).not.toContain(false));
      expect(idle.slice(9).map(({ closed }) => closed)).not.toContain(true);
    });

    it('by closing those whose request does not come to its end', async () => {
      await start();
      const [head, body] = await Promise.all([open(), open()]);
      const closed = [head, body].map((socket) => new Promise((resolve) => socket.on('close', resolve)));
      head.write('GET /livez HTTP/1.1\r\nHost: a\r\n');
      body.write('POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n');
      await Promise.all(closed);
    });
  });
});
