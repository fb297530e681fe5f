import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { mustRun, runProgram, type CommandResult } from '../cluster/command.ts';
import { machineTime } from '../tooling/machine-time.ts';
import { quietPort } from '../testing/quiet-port.ts';
import { programPath } from './programs.ts';

const START_LIMIT_MS = 90_000;
const POLL_MS = 100;

/**
 * A real API server with its etcd on loopback, for one test file. No controllers, no nodes: objects stay as they are
 * stored.
 */
export class TestApiServer {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'wherry-chart-'));
  readonly #children: ChildProcess[] = [];

  /** @throws Error with the end of the server's output when it does not come up */
  async start(): Promise<void> {
    const [etcdPort, peerPort, port] = [await quietPort(), await quietPort(), await quietPort()];
    const token = randomBytes(16).toString('hex');
    this.#writeFiles(token, `https://127.0.0.1:${port}`);
    this.#run('etcd', [
      '--data-dir=etcd',
      '--unsafe-no-fsync',
      '--log-level=warn',
      `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
      `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
      `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
      `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
    ]);
    this.#run('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${port}`,
      '--cert-dir=certificates',
      '--token-auth-file=tokens.csv',
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--shutdown-delay-duration=0s',
      '--service-account-issuer=https://kubernetes.default.svc',
      '--service-account-key-file=accounts.key',
      '--service-account-signing-key-file=accounts.key',
    ]);
    await this.#untilReady();
  }

  /** Runs a program as the cluster's administrator. @throws CommandFailed */
  must(program: string, args: readonly string[], input?: string): Promise<string> {
    return mustRun(programPath(program), args, this.#options(input));
  }

  /** The same, whatever the outcome. */
  run(program: string, args: readonly string[], input?: string): Promise<CommandResult> {
    return runProgram(programPath(program), args, this.#options(input));
  }

  /**
   * Runs lines of a shell where the repository's charts, docs and examples are, with kubectl and helm as the
   * administrator's.
   */
  shell(script: string): Promise<CommandResult> {
    const { env } = this.#options(undefined);
    const PATH = `${path.dirname(programPath('kubectl'))}:${path.dirname(programPath('helm'))}:${env.PATH ?? ''}`;
    return runProgram('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: this.#readersFolder(),
      env: { ...env, PATH },
    });
  }

  /** An object as it is stored. @throws CommandFailed when it is not there */
  async get(...args: string[]): Promise<StoredObject> {
    return JSON.parse(await this.must('kubectl', ['get', '-o', 'json', ...args])) as StoredObject;
  }

  async stop(): Promise<void> {
    for (const child of this.#children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  #options(input: string | undefined): { env: NodeJS.ProcessEnv; input?: string } {
    const env = { PATH: process.env.PATH, HOME: this.folder, KUBECONFIG: path.join(this.folder, 'kubeconfig') };
    return input === undefined ? { env } : { env, input };
  }

  /** What a reader of the guides has before them; no command of theirs runs in the repository itself. */
  #readersFolder(): string {
    const folder = path.join(this.folder, 'reader');
    if (existsSync(folder)) return folder;
    mkdirSync(folder);
    for (const name of ['charts', 'docs', 'examples'])
      symlinkSync(path.join(import.meta.dirname, '../..', name), path.join(folder, name));
    return folder;
  }

  #writeFiles(token: string, server: string): void {
    const write = (name: string, text: string): void =>
      writeFileSync(path.join(this.folder, name), text, { mode: 0o600 });
    write('tokens.csv', `${token},admin,admin,system:masters\n`);
    write(
      'accounts.key',
      generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs1', format: 'pem' }) as string,
    );
    const one = { name: 'test' };
    write(
      'kubeconfig',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'test',
        // It signs a certificate for itself at its start.
        clusters: [{ ...one, cluster: { server, 'certificate-authority': 'certificates/apiserver.crt' } }],
        users: [{ ...one, user: { token } }],
        contexts: [{ ...one, context: { cluster: 'test', user: 'test' } }],
      }),
    );
  }

  /** It ends with this process, however that ends. */
  #run(name: string, args: string[]): void {
    const log = openSync(path.join(this.folder, `${name}.log`), 'a');
    this.#children.push(
      spawn('setpriv', ['--pdeathsig', 'KILL', programPath(name), ...args], {
        cwd: this.folder,
        env: {},
        stdio: ['ignore', log, log],
      }),
    );
  }

  async #untilReady(): Promise<void> {
    const end = machineTime() + START_LIMIT_MS;
    while ((await this.run('kubectl', ['get', '--raw', '/readyz'])).code !== 0) {
      const ended = this.#children.some((child) => child.exitCode !== null);
      const log = readFileSync(path.join(this.folder, 'kube-apiserver.log'), 'utf8');
      if (ended || machineTime() > end) throw new Error(`kube-apiserver did not start:\n${log.slice(-2000)}`);
      await delay(POLL_MS);
    }
  }
}

/** Any answer of the API server counts. */
interface StoredObject {
  metadata: { name: string; uid: string; resourceVersion: string; annotations?: Record<string, string> };
  spec: Record<string, unknown>;
}
