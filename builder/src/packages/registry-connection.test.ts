import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { registryBench, type RegistryBench } from './testing/registry-bench.ts';
import { startTestRegistry, type TestRegistry } from './testing/test-registry.ts';

/*
 * A registry of a company: behind a certificate of its own, or to be had through a proxy alone. Everything that an
 * install requests has to go that way, the tarballs as well.
 */

let registry: TestRegistry;
let bench: RegistryBench | undefined;
const servers: Server[] = [];

beforeAll(async () => {
  registry = await startTestRegistry();
  await registry.publish({ name: 'inner', version: '1.0.0' });
  await registry.publish({ name: 'outer', version: '1.0.0', dependencies: { inner: '^1.0.0' } });
}, 60_000);

afterEach(async () => {
  await bench?.stop();
  bench = undefined;
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});
afterAll(() => registry.stop());

async function listening(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Hands a request on to the real registry, which makes its tarballs' addresses of these headers. */
function forwardRequest(incoming: IncomingMessage, answer: ServerResponse, more: Record<string, string> = {}): void {
  const { pathname, search } = new URL(incoming.url ?? '/', 'http://any');
  const target = new URL(pathname + search, registry.url);
  const onward = request(
    target,
    { method: incoming.method ?? 'GET', headers: { ...incoming.headers, ...more } },
    (got) => {
      answer.writeHead(got.statusCode ?? 500, got.headers);
      got.pipe(answer);
    },
  );
  incoming.pipe(onward);
}

/** Resolves `outer` and fetches what it needs. */
async function installs(tested: RegistryBench): Promise<string[]> {
  const lock = await tested.lock({ dependencies: { outer: '1.0.0' } });
  const packages = Object.values(tested.packages.layout(lock).packages);
  const tarballs = packages.map(({ integrity }) =>
    tested.packages.tarball(integrity, lock, new AbortController().signal),
  );
  expect((await Promise.all(tarballs)).every((bytes) => bytes.length > 0)).toBe(true);
  return packages.map(({ name }) => name).toSorted();
}

describe('a registry with a certificate of its own', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-ca-'));
  const file = (name: string): string => path.join(folder, name);
  let url: string;

  beforeAll(() => {
    const subject = ['-subj', '/CN=registry', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file('key.pem')];
    execFileSync('openssl', ['req', '-x509', ...key, '-out', file('cert.pem'), '-days', '2', ...subject], {
      stdio: 'ignore',
    });
  });
  beforeEach(async () => {
    const certificate = { key: readFileSync(file('key.pem')), cert: readFileSync(file('cert.pem')) };
    const server = createTlsServer(certificate, (incoming, answer) =>
      forwardRequest(incoming, answer, { 'x-forwarded-proto': 'https' }),
    );
    url = `https://127.0.0.1:${await listening(server)}/`;
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is believed when the certificate is given', async () => {
    bench = await registryBench({ registry: { url, ca: readFileSync(file('cert.pem'), 'utf8') } });
    expect(await installs(bench)).toEqual(['inner', 'outer']);
  }, 60_000);

  it('is not believed without it, and the failure says so', async () => {
    bench = await registryBench({ registry: { url } });
    expect(await bench.resolve({ dependencies: { outer: '1.0.0' } })).toMatchObject({
      ok: false,
      reason: 'RegistryUnavailable',
      message: expect.stringContaining('certificate is not trusted'),
    });
  }, 60_000);
});

describe('a registry behind a proxy', () => {
  it('gets every request through the proxy: nothing else knows its name', async () => {
    const requests: string[] = [];
    const port = Number(new URL(registry.url).port);
    const proxy = createServer((question, answer) => {
      requests.push(question.url ?? '');
      forwardRequest(question, answer);
    });
    proxy.on('connect', (question: IncomingMessage, socket: Socket) => {
      requests.push(question.url ?? '');
      const onward = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 Connection Established\r\n\r\n'));
      socket.pipe(onward).pipe(socket);
      for (const end of [socket, onward]) end.on('error', () => [socket, onward].forEach((one) => one.destroy()));
    });
    const url = 'http://registry.invalid:4873/';
    bench = await registryBench({ registry: { url, proxy: `http://127.0.0.1:${await listening(proxy)}` } });
    expect(await installs(bench)).toEqual(['inner', 'outer']);
    expect(requests.length).toBeGreaterThan(0);
    expect(requests.every((target) => target.includes('registry.invalid:4873'))).toBe(true);
  }, 60_000);
});
