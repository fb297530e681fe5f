import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compileCache } from '@wherry/testing/compile-cache.ts';
import { newKey, serializeKeysJson, type KeysJson } from '@wherry/service/keys/keys-json.ts';
import { TestAuthority, writeTlsFiles } from '@wherry/service/testing/test-certificates.ts';
import type { TlsMaterial } from '@wherry/service/tls/tls-files.ts';

const PROGRAM = path.join(import.meta.dirname, '../main.ts');
const READY_MS = 30_000;
export const MANAGEMENT_KEY = 'the-first-management-key';

interface Answer {
  status: number;
  body: unknown;
}

/** As much of `@wherry/kube`'s client as is needed here. */
interface Api {
  request<T>(request: { method: 'POST' | 'PATCH'; path: string; body?: object; contentType?: string }): Promise<T>;
}

const KEYS = 'wherry-encryption-keys';

/** The Secret of the encryption keys, as an operator makes it. */
export async function createKeysSecret(api: Api, namespace: string): Promise<KeysJson> {
  const keys: KeysJson = { format: 1, current: 1, keys: [newKey(1, Date.now())] };
  const stringData = { 'keys.json': serializeKeysJson(keys) };
  const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: KEYS }, stringData };
  await api.request({ method: 'POST', path: `/api/v1/namespaces/${namespace}/secrets`, body });
  return keys;
}

/** As a person with kubectl, or another replica, does. */
export function writeKeysSecret(api: Api, namespace: string, text: string): Promise<unknown> {
  return api.request({
    method: 'PATCH',
    path: `/api/v1/namespaces/${namespace}/secrets/${KEYS}`,
    contentType: 'application/merge-patch+json',
    body: { stringData: { 'keys.json': text } },
  });
}

/** What lies in the folders that a manager's pod mounts, and how to start the program with them. Its own place each. */
export class ManagerPlace {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'wherry-manager-'));
  readonly authority = new TestAuthority();
  readonly operator: TlsMaterial = this.authority.issue('operator');
  readonly #running = new Set<ManagerProgram>();

  constructor() {
    for (const name of ['tls', 'data']) mkdirSync(path.join(this.folder, name));
    writeTlsFiles(path.join(this.folder, 'tls'), this.authority.issue('manager', ['127.0.0.1', 'localhost']));
    writeFileSync(path.join(this.folder, 'management-key'), `${MANAGEMENT_KEY}\n`);
  }

  start(environment: Record<string, string>): ManagerProgram {
    const at = (name: string): string => path.join(this.folder, name);
    const program = new ManagerProgram({
      MANAGEMENT_HOST: '127.0.0.1',
      MANAGEMENT_PORT: '0',
      WHERRY_INTERNAL_PORT: '0',
      OPS_PORT: '0',
      WHERRY_FUNCTION_URL: 'http://functions.test',
      WHERRY_DATA_DIR: at('data'),
      WHERRY_TLS_DIRECTORY: at('tls'),
      WHERRY_MANAGEMENT_KEY_FILE: at('management-key'),
      WHERRY_LAME_DUCK_SECONDS: '0',
      ...environment,
    });
    this.#running.add(program);
    return program;
  }

  async stop(): Promise<void> {
    for (const program of this.#running) await program.kill();
    this.#running.clear();
  }

  async remove(): Promise<void> {
    await this.stop();
    this.authority.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The manager's program, in a process of its own. */
class ManagerProgram {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;
  said = '';

  constructor(environment: Record<string, string>) {
    this.child = spawn(process.execPath, [PROGRAM], {
      env: { ...compileCache, ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.exited = once(this.child, 'exit');
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.said += text;
    });
  }

  /** Its ports, once it listens. */
  async ports(): Promise<{ management: number; internal: number; ops: number }> {
    const end = machineTime() + READY_MS;
    for (;;) {
      const line = this.said.split('\n').find((text) => text.includes('"the manager is listening"'));
      if (line !== undefined) return JSON.parse(line) as { management: number; internal: number; ops: number };
      if (this.child.exitCode !== null || machineTime() > end)
        throw new Error(`the manager does not listen: ${this.said}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async readiness(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${(await this.ports()).ops}/readyz`)).text();
  }

  /** Resolves once it is ready. */
  async ready(): Promise<this> {
    const end = machineTime() + READY_MS;
    while ((await this.readiness()) !== 'ok\n') {
      if (machineTime() > end) throw new Error(`the manager is not ready: ${await this.readiness()} ${this.said}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return this;
  }

  async api(method: string, target: string, body?: unknown, key = MANAGEMENT_KEY): Promise<Answer> {
    const { management } = await this.ports();
    const answer = await fetch(`http://127.0.0.1:${management}${target}`, {
      method,
      headers: { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
  }

  async terminate(): Promise<unknown[]> {
    this.child.kill('SIGTERM');
    return this.exited;
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await this.exited;
  }
}
