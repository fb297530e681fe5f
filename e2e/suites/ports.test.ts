import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { ApiClient, eventually, send } from '../testing/api-client.ts';
import { startService, type Service } from '../testing/embedded-service.ts';
import { descendants, stillRunning, type Process } from '../testing/processes.ts';

/*
 * The two ports are the service's own as long as a function could listen there in its place, and receive callers' keys.
 */

const HANDLERS = {
  'hello.js': 'export default (c) => c.text("hello");',
  'armed.js':
    'export default (c, ctx) => { ctx.waitUntil(fetch(c.req.query("gate"))); return c.text(String(process.pid)); };',
};
const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
const LOOPBACKS = ['127.0.0.1', ...(HAS_IPV6 ? ['::1'] : [])];

let service: Service;
let ports: number[];
let gate: HttpServer | undefined;
beforeAll(async () => {
  service = await startService();
  const api = new ApiClient(service.managementUrl, service.managementKey!);
  await api.source('some', HANDLERS);
  await api.readyFunction({ name: 'hello', handler: 'some/hello.js', route: '/hello' });
  ports = [service.functionUrl, service.managementUrl].map((url) => Number(new URL(url).port));
}, 30_000);
afterAll(async () => {
  gate?.close().closeAllConnections();
  await service?.dispose();
}, 30_000);

/** What a function would do: listen on the port. */
async function listens(port: number, host?: string): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return true;
  } catch {
    return false;
  }
}

/** Of every address on which a function could listen, those that it would get. */
async function open(): Promise<string[]> {
  const found: string[] = [];
  for (const port of ports)
    for (const host of LOOPBACKS) if (await listens(port, host)) found.push(`${host} ${ports.indexOf(port)}`);
  return found;
}

const router = (): Process =>
  descendants(service.process.pid!).find(({ command }) => command.includes('router/src/main.ts'))!;

describe('R6, S1: the function port and the management port', () => {
  it("are the service's on both loopback addresses, and served on both", async () => {
    expect(await open()).toEqual([]);
    for (const host of LOOPBACKS.map((address) => (address.includes(':') ? `[${address}]` : address))) {
      expect((await send(`http://${host}:${ports[0]}/run/hello`)).text).toBe('hello');
      expect((await send(`http://${host}:${ports[1]}/api/functions`)).status).toBe(401);
    }
  });

  it("stay the service's when the router is killed, and calls wait for the next one", async () => {
    const killed = router();
    process.kill(killed.pid, 'SIGKILL');
    await eventually(() => expect(stillRunning([killed])).toEqual([]));
    const [tries, answer] = await Promise.all([open(), send(`${service.functionUrl}/run/hello`)]);
    expect(tries).toEqual([]);
    expect([200, 503]).toContain(answer.status);
    await eventually(async () => expect((await send(`${service.functionUrl}/run/hello`)).text).toBe('hello'));
    expect(router().pid).not.toBe(killed.pid);
    expect(await open()).toEqual([]);
  });

  it("stay the service's while it stops, until the last instance is gone", async () => {
    const api = new ApiClient(service.managementUrl, service.managementKey!);
    await api.readyFunction({ name: 'armed', handler: 'some/armed.js', route: '/armed', timeoutSeconds: 60 });
    // The instance lives until this one answers.
    gate = createHttpServer().listen(0, '127.0.0.1');
    await once(gate, 'listening');
    const requested = once(gate, 'request') as Promise<[unknown, ServerResponse]>;
    const gateUrl = `http://127.0.0.1:${(gate.address() as AddressInfo).port}/`;
    const pid = Number((await send(`${service.functionUrl}/run/armed?gate=${gateUrl}`)).text);
    const [, held] = await requested;
    const before = descendants(service.process.pid!);
    const instance = before.filter((process) => process.pid === pid);
    const front = router();
    service.process.kill('SIGTERM');
    await eventually(() => expect(stillRunning([front])).toEqual([]));
    let tries = 0;
    let isRefused = false;
    for (; stillRunning(instance).length > 0; tries += 1) {
      const found = await open();
      if (stillRunning(instance).length > 0) expect(found).toEqual([]);
      if (isRefused) continue;
      // The management API may stop a moment later than the router.
      const answers = await Promise.all(ports.map((port) => send(`http://127.0.0.1:${port}/run/hello`)));
      isRefused = answers.every(({ status }) => status === 503);
      if (isRefused) held.end();
      else expect(answers.map(({ status }) => status)).toEqual([503, 404]);
    }
    expect([tries > 0, isRefused]).toEqual([true, true]);
    expect(await service.exited).toBe(0);
    expect(await open()).toHaveLength(2 * LOOPBACKS.length);
  });
});
