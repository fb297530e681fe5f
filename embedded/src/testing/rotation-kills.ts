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
import {
  caller,
  keyStates,
  pause,
  rotationEnd,
  RotationTraffic,
  valueOf,
  WRITTEN_GROUP,
  type Call,
  type RotationStatus,
} from './rotation-traffic.ts';

const MAIN = path.join(import.meta.dirname, '../main.ts');
const PRELOAD = path.join(import.meta.dirname, 'kill-at-write.ts');
const KEY = 'the-key-of-the-rotation-test';
const START_MS = 60_000;
/** FT1. */
export const RESUME_MS = 30_000;
/** Secrets that are written and read all the time. */
const WRITTEN = 10;

/** Where the service is killed; a number is that of a write of the database since the new key is active. */
export interface KillPoint {
  at: 'begin' | 'activate' | 'conclude' | number;
  moment: 'before' | 'after';
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

/** One data directory over which the service rotates its key, is killed, and starts again. */
export class RotationKills {
  /** How long each rotation took that went on after the last kill, in milliseconds from the start of the process. */
  resumedInMs = 0;
  readonly traffic = new RotationTraffic();
  readonly #data = mkdtempSync(path.join(tmpdir(), 'wherry-rotation-'));
  readonly #records: number;
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
      const name = `S${at}`;
      const metadata = { namespace: 'default', name: `secret-${at}` };
      const owner = { kind: 'FunctionSecret', metadata } as const;
      const value = sealConfidential(keyRingOver(ring), owner, 'spec.value', valueOf(name, 0));
      const group =
        at < WRITTEN ? ({ scope: 'group', keyGroup: WRITTEN_GROUP } as const) : ({ scope: 'global' } as const);
      await store.create({ ...owner, metadata: { name: metadata.name }, spec: { name, ...group, value } });
      if (at < WRITTEN) this.traffic.follow(name, metadata.name);
    }
    await store.close();
    directory.release();
    const call = await this.#startForGood();
    await call('PUT', '/api/settings', {
      settings: { 'encryption.key-rotation.batch-sleep-ms': '0', 'encryption.key-rotation.batch-size': '50' },
    });
    await this.#running?.stop();
  }

  /** Starts the service, has it rotate if it does not, writes and reads until it is killed, and looks at what is left. */
  async killAt(point: KillPoint): Promise<void> {
    const call = await this.#start(point);
    if (call !== undefined) {
      const { traffic } = this;
      const work = [traffic.write(call, 0), traffic.write(call, 1), traffic.read(call), traffic.rotate(call)];
      await Promise.all(work.map((one) => one.catch(unlessKilled)));
    }
    const ended = await this.#running?.exited;
    if (ended?.[1] !== 'SIGKILL') throw new Error(`the service ended with ${String(ended)}: ${this.#running?.output}`);
  }

  /**
   * Starts it again for good.
   * @returns what is wrong with any value, how the rotation ended, and the states of the keys.
   */
  async finish(): Promise<{ wrong: string[]; status: RotationStatus; states: Set<string> }> {
    const began = machineTime();
    const call = await this.#startForGood();
    const status = await rotationEnd(call, 10 * RESUME_MS);
    this.resumedInMs = machineTime() - began;
    const wrong = await this.traffic.look(call, this.#records);
    return { wrong, status, states: new Set((await keyStates(call)).values()) };
  }

  async dispose(): Promise<void> {
    await this.#running?.stop();
    rmSync(this.#data, { recursive: true, force: true });
  }

  async #startForGood(): Promise<Call> {
    const call = await this.#start(undefined);
    if (call === undefined) throw new Error(`the service ended: ${this.#running?.output}`);
    return call;
  }

  /** Undefined where it was killed before it was ready. */
  async #start(point: KillPoint | undefined): Promise<Call | undefined> {
    this.#running = new ServiceProcess(this.#data, point);
    const url = await this.#running.ready();
    return url === undefined ? undefined : caller(url, KEY);
  }
}

/** The connection breaks when the service is killed; anything else is a failure. */
function unlessKilled(error: unknown): void {
  if (!(error instanceof TypeError)) throw error;
}
