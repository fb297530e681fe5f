import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { compileCache } from '@wherry/testing/compile-cache.ts';
import { routerUpSchema, type RouterDown, type RouterUp } from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { NODE_FLAGS } from '../program/node-flags.ts';
import { eventually } from './harness.ts';

/** The router program as a process of its own, and the service's end of its feed. */
export class RouterProcess {
  readonly child: ChildProcess;
  readonly channel: FeedChannel;
  readonly up: RouterUp[] = [];
  /** The exit code; null where a signal ended it. */
  readonly exited: Promise<number | null>;
  #stderr = '';

  private constructor(environment: Record<string, string>) {
    this.child = spawn(process.execPath, [...NODE_FLAGS, fileURLToPath(new URL('../main.ts', import.meta.url))], {
      env: { ...compileCache, ...environment },
      stdio: ['ignore', 'inherit', 'pipe', 'pipe'],
    });
    this.child.stderr?.on('data', (chunk: Buffer) => (this.#stderr += chunk.toString()));
    this.channel = jsonLines(this.child.stdio[3] as Duplex);
    void this.#collect();
    this.exited = once(this.child, 'exit').then(([code]) => code as number | null);
  }

  /** @param environment all of it beside Node's flags: nothing of the test's own is passed on. */
  static start(
    environment: Record<string, string> = { FUNCTION_PORT: '0', FUNCTION_HOST: '127.0.0.1' },
  ): RouterProcess {
    return new RouterProcess(environment);
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** The port, once it listens. */
  async listening(): Promise<number> {
    await eventually(() => this.up.some((message) => message.type === 'listening'), 15_000);
    const first = this.up.find((message) => message.type === 'listening');
    return first?.type === 'listening' ? first.port : 0;
  }

  /** Sends a feed message and waits until it is confirmed. */
  async apply(message: RouterDown): Promise<void> {
    this.channel.send(message);
    await eventually(() => this.up.some((sent) => sent.type === 'applied' && sent.version === message.version), 15_000);
  }

  /** MiB of memory that are this process' share of the machine's (PSS). */
  memoryMiB(): number {
    const rollup = readFileSync(`/proc/${this.child.pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1]) / 1024;
  }

  /** Files and sockets that it has open. */
  openFiles(): number {
    return readdirSync(`/proc/${this.child.pid}/fd`).length;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  async #collect(): Promise<void> {
    for await (const message of this.channel.messages()) this.up.push(routerUpSchema.parse(message));
  }
}
