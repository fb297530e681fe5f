import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ApiClient, eventually } from '../testing/api-client.ts';
import { startService, type Service } from '../testing/embedded-service.ts';
import { descendants, type Process } from '../testing/processes.ts';

/*
 * What whoever looks after the service on one machine can read: metrics and health, on loopback.
 */

describe('the ops listener', () => {
  let service: Service;
  let unheard: Service | undefined;
  beforeAll(async () => {
    service = await startService();
  }, 60_000);
  afterAll(() => Promise.all([service, unheard].map(async (started) => started?.dispose())), 30_000);

  const metricsUrl = (of = service): string => /^ {2}Metrics:\s+(\S+)$/m.exec(of.output())?.[1] ?? '';
  const read = async (url: string): Promise<[number, string]> => {
    const response = await fetch(url);
    return [response.status, await response.text()];
  };

  it("prints the service's metrics and the router's, and says that it is well", async () => {
    const url = metricsUrl();
    // `localhost` may be ::1, where it does not listen.
    expect(new URL(url).hostname).toBe('127.0.0.1');
    expect(await read(url)).toEqual([200, expect.stringContaining('wherry_reconcile_total') as string]);
    // Both parts count in the one process: the operator's and the manager's.
    expect(await read(url)).toEqual([200, expect.stringMatching(/^wherry_log_entries_lost_total 0$/m) as string]);
    // Another process's, under a path of its own: both have a metric of one name.
    expect(await read(`${url}/router`)).toEqual([
      200,
      expect.stringContaining('wherry_router_overhead_seconds') as string,
    ]);
    const base = url.replace('/metrics', '');
    expect([await read(`${base}/livez`), await read(`${base}/readyz`)]).toEqual([
      [200, 'ok\n'],
      [200, 'ok\n'],
    ]);
  }, 60_000);

  it('prints every metric of one machine that the alerts and the dashboard of the chart use, with their labels', async () => {
    const api = new ApiClient(service.managementUrl, service.managementKey!);
    await api.source('watched', { 'h.js': 'export default (c) => c.text("ok");' });
    await api.readyFunction({ name: 'watched', handler: 'watched/h.js', route: '/watched' });
    expect((await fetch(`${service.functionUrl}/run/watched`)).status).toBe(200);
    const text = `${(await read(metricsUrl()))[1]}\n${(await read(`${metricsUrl()}/router`))[1]}`;
    const used = await selectorsOfTheChart();
    expect(used.length).toBeGreaterThan(10);
    for (const { name, labels } of used) {
      // Help is printed of those that have no value yet.
      expect(text).toMatch(new RegExp(`^# TYPE ${name.replace(/_bucket$/, '')} `, 'm'));
      const line = new RegExp(`^${name}\\{(.*)\\} `, 'm').exec(text)?.[1];
      for (const label of labels) expect([name, line]).toEqual([name, expect.stringContaining(`${label}="`)]);
    }
  }, 60_000);

  it('prints the metrics of a router that took the place of a killed one', async () => {
    const routers = (): Process[] =>
      descendants(service.process.pid!).filter(({ command }) => command.includes('/router/src/main.ts'));
    const [killed, ...more] = routers();
    expect(more).toEqual([]);
    process.kill(killed!.pid, 'SIGKILL');
    await eventually(async () => {
      expect(routers().map(({ pid }) => pid)).not.toContain(killed!.pid);
      expect(await read(`${metricsUrl()}/router`)).toEqual([
        200,
        expect.stringContaining('wherry_router_overhead_seconds') as string,
      ]);
    });
  }, 60_000);

  it('whose port is taken stops nothing, and is logged in one line', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    unheard = await startService({ environment: { OPS_PORT: String(port) } });
    expect(metricsUrl(unheard)).toBe('');
    expect((await fetch(`${unheard.managementUrl}/api/ping`).catch(() => undefined))?.status).toBeDefined();
    const lines = unheard
      .output()
      .split('\n')
      .filter((text) => text.startsWith('{'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(
      `OPS_PORT: cannot listen on 127.0.0.1:${port}: it is in use (EADDRINUSE). Stop the program that listens there, or set another port.`,
    );
    expect(await unheard.stop()).toBe(0);
    other.close();
  }, 60_000);
});

/** The metrics that alerts and dashboard select, with the labels by which they do; but those of a cluster alone. */
async function selectorsOfTheChart(): Promise<{ name: string; labels: string[] }[]> {
  const folder = path.join(import.meta.dirname, '../../charts/wherry/files');
  const texts = await Promise.all(
    ['alerts.yaml', 'dashboard.json'].map((file) => readFile(path.join(folder, file), 'utf8')),
  );
  const found = texts
    .join('\n')
    .replaceAll('\\"', '"')
    .matchAll(/\b(wherry_\w+)(?:\{([^}]*)\})?/g);
  return [...found]
    .map(([, name = '', matchers = '']) => ({
      name,
      labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
    }))
    .filter(({ name }) => name !== 'wherry_certificate_expiry_timestamp_seconds');
}
