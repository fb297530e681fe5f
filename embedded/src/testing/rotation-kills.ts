import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { compileCache } from '@wherry/testing/compile-cache.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { sealConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import { keyRingOver } from '@wherry/service/keys/ring-storage.ts';
import { loadKeyFile } from '../data-directory/key-file.ts';
import { openDataDirectory } from '../data-directory/open-data-directory.ts';
import { openSqliteStore } from '../store/open-sqlite-store.ts';

const MAIN = path.join(import.meta.dirname, '../main.ts');
const PRELOAD = path.join(import.meta.dirname, 'kill-at-write.ts');
const KEY = 'the-key-of-the-rotation-test';
const START_MS = 60_000;
/** FT1. */
export const RESUME_MS = 30_000;
/** Secrets that are written and read all the time. */
const WRITTEN = 10;
/** So many reads and acknowledged writes come before a rotation begins. */
const AT_WORK = 5;
const ROTATION = '/api/encryption-keys/rotation';

/** Where the service is killed; a number is that of a write of the database since the new key is active. */
export interface KillPoint {
  at: 'begin' | 'activate' | 'conclude' | number;
  moment: 'before' | 'after';
}

interface Secret {
  id: string;
  name: string;
  value?: string;
  decryptionError?: string;
}

/** What was acknowledged last, and what was sent last: after a kill, one of the two is there. */
interface Written {
  acknowledged: number;
  sent: number;
}

/** The whole service as a process of its own. */
class ServiceProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;
  output = '';

  constructor(data: string, kill: KillPoint | undefined) {
    const preload = pathToFileURL(PRELOAD);
    if (kill !== undefined)
      preload.search = new URLSearchParams({
        at: String(kill.at),
        moment: kill.moment,
        file: path.join(data, 'keys.json'),
      }).toString();
    this.child = spawn(process.execPath, [...(kill === undefined ? [] : ['--import', preload.href]), MAIN], {
      env: {
        ...compileCache,
        FUNCTION_PORT: '0',
        MANAGEMENT_PORT: '0',
        OPS_PORT: '0',
        FUNCTION_HOST: '127.0.0.1',
        WHERRY_DATA_DIR: data,
        WHERRY_MANAGEMENT_KEY: KEY,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exited = once(this.child, 'exit');
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
  }

  get isGone(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Its management URL; undefined when it was killed before it was ready. */
  async ready(): Promise<string | undefined> {
    const end = machineTime() + START_MS;
    while (!this.isGone) {
      const url = /^ {2}Management:\s+(\S+?)\/api\//m.exec(this.output)?.[1];
      if (url !== undefined) return url;
      if (machineTime() > end) throw new Error(`the service is not ready: ${this.output}`);
      await pause();
    }
    return undefined;
  }

  async stop(): Promise<void> {
    if (!this.isGone) this.child.kill('SIGTERM');
    await this.exited;
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

/** One data directory over which the service rotates its key, is killed, and starts again. */
export class RotationKills {
  /** How long each rotation took that went on after the last kill, in milliseconds from the start of the process. */
  resumedInMs = 0;
  acknowledged = 0;
  reads = 0;
  readonly #data = mkdtempSync(path.join(tmpdir(), 'wherry-rotation-'));
  readonly #records: number;
  readonly #written = new Map<string, Written>();
  #running: ServiceProcess | undefined;

  constructor(records: number) {
    this.#records = records;
  }

  /** A database with that many secrets; the first ones are written again and again. */
  async prepare(): Promise<void> {
    const directory = await openDataDirectory({ path: this.#data, logger: new FakeLogger() });
    const { ring } = loadKeyFile(directory.paths.keys, { create: true, clock: Date, logger: new FakeLogger() });
    const store = await openSqliteStore({ file: directory.paths.database, namespace: 'default', clock: Date });
    for (let at = 0; at < this.#records; at += 1) {
      const metadata = { namespace: 'default', name: `secret-${at}` };
      const owner = { kind: 'FunctionSecret', metadata } as const;
      const value = sealConfidential(keyRingOver(ring), owner, 'spec.value', valueOf(metadata.name, 0));
      const group =
        at < WRITTEN ? ({ scope: 'group', keyGroup: 'management' } as const) : ({ scope: 'global' } as const);
      await store.create({ ...owner, metadata: { name: metadata.name }, spec: { name: `S${at}`, ...group, value } });
      if (at < WRITTEN) this.#written.set(metadata.name, { acknowledged: 0, sent: 0 });
    }
    await store.close();
    directory.release();
    const url = await this.#start(undefined);
    await call(url, 'PUT', '/api/settings', {
      settings: { 'encryption.key-rotation.batch-sleep-ms': '0', 'encryption.key-rotation.batch-size': '50' },
    });
    await this.#running?.stop();
  }

  /** Starts the service, has it rotate if it does not, writes and reads until it is killed, and looks at what is left. */
  async killAt(point: KillPoint): Promise<void> {
    const url = await this.#start(point);
    if (url !== '') {
      const work = [this.#write(url, 0), this.#write(url, 1), this.#read(url), this.#rotate(url)];
      await Promise.all(work.map((one) => one.catch(unlessKilled)));
    }
    const ended = await this.#running?.exited;
    if (ended?.[1] !== 'SIGKILL') throw new Error(`the service ended with ${String(ended)}: ${this.#running?.output}`);
  }

  /**
   * Starts it again for good.
   * @returns what is wrong with any value, how the rotation ended, and the states of the keys.
   */
  async finish(): Promise<{ wrong: string[]; status: Record<string, unknown>; states: Set<string> }> {
    const began = machineTime();
    const url = await this.#start(undefined);
    let status: Record<string, unknown>;
    do {
      await pause();
      status = (await call(url, 'GET', ROTATION)) as typeof status;
      if (machineTime() - began > 10 * RESUME_MS) throw new Error('the rotation does not end');
    } while (status['isInProgress'] === true);
    this.resumedInMs = machineTime() - began;
    const { secrets } = (await call(url, 'GET', '/api/secrets?includeValues=true')) as { secrets: Secret[] };
    const { keys } = (await call(url, 'GET', '/api/encryption-keys')) as { keys: { state: string }[] };
    const missing = this.#records - secrets.length;
    const wrong = [...(missing === 0 ? [] : [`${missing} secrets are missing`]), ...this.#wrong(secrets)];
    return { wrong, status, states: new Set(keys.map(({ state }) => state)) };
  }

  async dispose(): Promise<void> {
    await this.#running?.stop();
    rmSync(this.#data, { recursive: true, force: true });
  }

  async #start(point: KillPoint | undefined): Promise<string> {
    this.#running = new ServiceProcess(this.#data, point);
    return (await this.#running.ready()) ?? '';
  }

  async #rotate(url: string): Promise<void> {
    for (;;) {
      const { isInProgress } = (await call(url, 'GET', ROTATION)) as { isInProgress: boolean };
      if (!isInProgress) {
        await this.#untilAllWork();
        await call(url, 'POST', ROTATION);
      }
      await pause();
    }
  }

  /** Reads and writes are under way when the rotation begins, however fast it is. */
  async #untilAllWork(): Promise<void> {
    const [reads, acknowledged] = [this.reads + AT_WORK, this.acknowledged + AT_WORK];
    while (this.#running?.isGone === false && (this.reads < reads || this.acknowledged < acknowledged)) await pause();
  }

  /** One of two writers: the next number of every other secret, so that nobody else writes it. */
  async #write(url: string, which: number): Promise<void> {
    const own = [...this.#written].filter((_, index) => index % 2 === which);
    for (;;) {
      for (const [name, written] of own) {
        written.sent += 1;
        const number = written.sent;
        await call(url, 'PUT', `/api/secrets/${name}`, { value: valueOf(name, number) });
        written.acknowledged = number;
        this.acknowledged += 1;
      }
      await pause();
    }
  }

  async #read(url: string): Promise<void> {
    for (;;) {
      const before = new Map([...this.#written].map(([name, { acknowledged }]) => [name, acknowledged]));
      const target = '/api/secrets?includeValues=true&groupId=management';
      const { secrets } = (await call(url, 'GET', target)) as { secrets: Secret[] };
      const wrong = this.#wrong(secrets, before);
      if (secrets.length !== WRITTEN || wrong.length > 0) throw new Error(`${secrets.length} values: ${wrong.join()}`);
      this.reads += 1;
      await pause();
    }
  }

  /** A value is the last that was acknowledged before it was read, or a later one; what was sent last may have been written or not. */
  #wrong(secrets: Secret[], before = new Map<string, number>()): string[] {
    return secrets.flatMap(({ id, value, decryptionError }) => {
      const written = this.#written.get(id);
      const from = before.get(id) ?? written?.acknowledged ?? 0;
      const to = written?.sent ?? 0;
      const possible = Array.from({ length: to - from + 1 }, (_, index) => valueOf(id, from + index));
      return value !== undefined && possible.includes(value) ? [] : [`${id}: ${decryptionError ?? 'another value'}`];
    });
  }
}

function valueOf(name: string, number: number): string {
  return `value ${number} of ${name}`;
}

/** The connection breaks when the service is killed; anything else is a failure. */
function unlessKilled(error: unknown): void {
  if (!(error instanceof TypeError)) throw error;
}

async function call(url: string, method: string, target: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${url}${target}`, {
    method,
    headers: {
      'x-api-key': KEY,
      prefer: 'respond-async',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  // Two that begin at once are one too many.
  if (!answer.ok && answer.status !== 409) throw new Error(`${method} ${target}: ${answer.status} ${text}`);
  return JSON.parse(text) as unknown;
}
