import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
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
    expect((await get('/metrics/gone')).slice(0, 2)).toEqual([503, 'The metrics cannot be read now.\n']);
    expect((await get('/metrics'))[0]).toBe(200);
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
    expect((await get('/'))[0]).toBe(404);
    expect((await get('/metrics', 'POST'))[0]).toBe(405);
  });

  it('names a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await expect(start({ port })).rejects.toThrow(
      `OPS_PORT: cannot listen on 127.0.0.1:${port}: it is in use (EADDRINUSE). Stop what listens there, or set another port.`,
    );
    other.close();
  });

  it('closes at once, whoever still holds a connection', async () => {
    await start();
    await get('/livez');
    await listener?.close();
    await expect(get('/livez')).rejects.toThrow('fetch failed');
    listener = undefined;
  });
});
