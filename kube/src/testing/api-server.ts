import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { kubernetesPrograms } from './config.ts';
import { backUpEtcd, restoreEtcd } from './etcd-backup.ts';

const START_LIMIT_MS = 90_000;
const POLL_MS = 50;
/** A free port may be taken by another program before ours listens: then all begins again. */
const ATTEMPTS = 3;
const LINES_OF_A_FAILURE = 8;

/** A real kube-apiserver with an etcd of its own on loopback, for tests. */
export interface ApiServer {
  /** `https://127.0.0.1:<port>`. */
  url: string;
  /** Path of a kubeconfig whose user may do everything. */
  kubeconfig: string;
  /** That user's bearer token. */
  token: string;
  /** PEM of the authority that signed the server's certificate. */
  ca: string;
  /** The folder of this server: certificates, tokens, logs. Gone after `stop`. */
  folder: string;
  /** Has etcd forget all states before the resourceVersion. Without `--watch-cache=false`, caches still know them. */
  compact(resourceVersion: string): Promise<void>;
  /** Saves the present content of etcd. The server is down meanwhile, and comes back at the same port. */
  backUp(): Promise<void>;
  /**
   * Puts back what was kept last, in place, as after a disaster: resourceVersions go back too. The server is away
   * meanwhile.
   */
  restore(): Promise<void>;
  /** Ends both programs and removes the folder. */
  stop(): Promise<void>;
}

interface ApiServerOptions {
  /** Flags beside ours, such as `--v=2`; a later flag wins. */
  flags?: string[];
}

/**
 * Starts etcd and kube-apiserver (RBAC on, tokens by file, no controllers: no garbage collection, no default service
 * accounts) in about five seconds. One file shares one: start it in `beforeAll`, give each test a namespace of its own.
 * Both die with this process, however it ends.
 */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const programs = kubernetesPrograms();
  for (let attempt = 1; ; attempt += 1) {
    const folder = await mkdtemp(path.join(tmpdir(), 'wherry-api-'));
    const children: ChildProcess[] = [];
    const stop = async (): Promise<void> => {
      // The server first: it would log that etcd has left.
      for (const child of children.toReversed()) await end(child);
      await rm(folder, { recursive: true, force: true });
    };
    try {
      return { ...(await start(folder, programs, { children, flags: options.flags ?? [] })), folder, stop };
    } catch (error) {
      await stop();
      if (attempt === ATTEMPTS || !(error as Error).message.includes('address already in use')) throw error;
    }
  }
}

async function start(
  folder: string,
  programs: string,
  { children, flags }: { children: ChildProcess[]; flags: string[] },
): Promise<Omit<ApiServer, 'folder' | 'stop'>> {
  const [client, peer, secure] = await freePorts();
  const etcd = `http://127.0.0.1:${client}`;
  const token = randomBytes(16).toString('hex');
  await writeFile(path.join(folder, 'tokens.csv'), `${token},wherry-test,wherry-test,system:masters\n`, {
    mode: 0o600,
  });
  await writeServiceAccountKeys(folder);
  const run = (program: string, args: string[]): ChildProcess => {
    const child = spawnBound(path.join(programs, program), args, path.join(folder, `${program}.log`));
    children.push(child);
    return child;
  };
  const url = `https://127.0.0.1:${secure}`;
  const both = {
    folder,
    async start(): Promise<void> {
      run('etcd', etcdFlags(folder, etcd, `http://127.0.0.1:${peer}`));
      run('kube-apiserver', [...apiServerFlags(folder, { etcd, port: secure }), ...flags]);
      await untilReady(folder, { url, token, children });
    },
    async stop(): Promise<void> {
      for (const child of children.splice(0).toReversed()) await end(child);
    },
  };
  await both.start();
  const ca = await readFile(path.join(folder, 'apiserver.crt'), 'utf8');
  const kubeconfig = path.join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigText({ url, ca, token }), { mode: 0o600 });
  const compact = async (resourceVersion: string): Promise<void> => {
    const body = JSON.stringify({ revision: resourceVersion, physical: true });
    const answer = await fetch(`${etcd}/v3/kv/compaction`, { method: 'POST', body });
    if (!answer.ok) throw new Error(`etcd did not compact: ${await answer.text()}`);
  };
  return { url, kubeconfig, token, ca, compact, backUp: () => backUpEtcd(both), restore: () => restoreEtcd(both) };
}

/** A kubeconfig of one cluster and one user, as JSON, which is YAML. */
export function kubeconfigText({ url, ca, token }: { url: string; ca: string; token: string }): string {
  const authority = Buffer.from(ca).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': authority } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  });
}

function etcdFlags(folder: string, client: string, peer: string): string[] {
  return [
    `--data-dir=${path.join(folder, 'etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--log-level=warn',
  ];
}

function apiServerFlags(folder: string, { etcd, port }: { etcd: string; port: number }): string[] {
  return [
    `--etcd-servers=${etcd}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    // It signs a certificate for itself there.
    `--cert-dir=${folder}`,
    `--token-auth-file=${path.join(folder, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${path.join(folder, 'accounts.pub')}`,
    `--service-account-signing-key-file=${path.join(folder, 'accounts.key')}`,
    // No controller makes the default account without which this plug-in refuses every pod.
    '--disable-admission-plugins=ServiceAccount',
    '--allow-privileged=true',
    // Nothing but the tests writes, so that resourceVersions show them what was written.
    '--feature-gates=APIServerIdentity=false',
    '--endpoint-reconciler-type=none',
    '--etcd-compaction-interval=0',
  ];
}

async function writeServiceAccountKeys(folder: string): Promise<void> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(path.join(folder, 'accounts.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(path.join(folder, 'accounts.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), {
    mode: 0o600,
  });
}

/** Three ports that nobody listened on a moment ago. */
async function freePorts(): Promise<[number, number, number]> {
  const take = async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  const servers = [await take(), await take(), await take()] as const;
  const portOf = (server: (typeof servers)[number]) => (server.address() as AddressInfo).port;
  const ports: [number, number, number] = [portOf(servers[0]), portOf(servers[1]), portOf(servers[2])];
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Starts a program that the kernel kills when we die, where there is such a kernel. */
function spawnBound(program: string, args: string[], log: string): ChildProcess {
  const bound: [string, string[]] =
    process.platform === 'linux' ? ['setpriv', ['--pdeathsig', 'KILL', program, ...args]] : [program, args];
  // Rare collections of garbage make its start a quarter cheaper; it lives for one test file.
  const child = spawn(...bound, { stdio: ['ignore', 'pipe', 'pipe'], env: { GOGC: '400' } });
  const output = createWriteStream(log);
  child.stdout?.pipe(output, { end: false });
  child.stderr?.pipe(output, { end: false });
  child.once('error', (error) => output.write(`${error.message}\n`));
  child.once('close', () => output.end());
  return child;
}

async function untilReady(
  folder: string,
  { url, token, children }: { url: string; token: string; children: ChildProcess[] },
): Promise<void> {
  const end = machineTime() + START_LIMIT_MS;
  while (!(await isReady(url, token))) {
    const ended = children.some((child) => child.exitCode !== null || child.signalCode !== null);
    if (ended || machineTime() > end) throw new Error(`kube-apiserver did not start:\n${lastLines(folder)}`);
    await delay(POLL_MS);
  }
}

/** Before the kubeconfig exists, and so before anybody trusts the server: its word alone decides nothing but this. */
function isReady(url: string, token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve) => {
    const call = request(
      `${url}/readyz`,
      { headers, rejectUnauthorized: false, agent: false, timeout: 2000 },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    call.once('timeout', () => call.destroy());
    call.once('error', () => resolve(false));
    call.end();
  });
}

function lastLines(folder: string): string {
  const tail = (program: string): string[] => {
    const lines = readFileSync(path.join(folder, `${program}.log`), 'utf8')
      .trimEnd()
      .split('\n');
    return lines.slice(-LINES_OF_A_FAILURE).map((line) => `${program}: ${line.slice(0, 500)}`);
  };
  return ['etcd', 'kube-apiserver'].flatMap(tail).join('\n');
}

/** Kills at once: what the folder holds is thrown away. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}
