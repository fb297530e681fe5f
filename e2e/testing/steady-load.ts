import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { machineTime } from '../tooling/machine-time.ts';

/** The outcome of a call: a complete answer, or why there is none. */
export interface Outcome {
  status: number;
  text: string;
  /** Bytes that were posted; 0 for a GET. */
  posted: number;
}

interface LoadOptions {
  url: string;
  /** What is wrong with an answer; undefined if nothing is. A call without an answer is always a failure. */
  fault: (outcome: Outcome) => string | undefined;
  headers?: Record<string, string>;
  /**
   * The number of callers, each on a connection of its own that it keeps alive as long as the server does. Default 3.
   */
  callers?: number;
  /** Between an answer and the caller's next call, in milliseconds. Default 40. */
  pauseMs?: number;
  /** Every n-th call of each caller posts 1 MiB. Default 12. */
  postEvery?: number;
}

export interface LoadReport {
  calls: number;
  posts: number;
  /** Every failure: seconds since the load began, and what it was. */
  failures: string[];
  /** The longest time without a good answer, in milliseconds. */
  longestGapMs: number;
  slowestMs: number;
  /**
   * The slowest call of each five seconds, in milliseconds of an idle machine. A busy machine distorts a single
   * maximum; the median of these is stable.
   */
  slowestInTurn: number[];
}

const TURN_MS = 5000;
const MIB = Buffer.alloc(1024 * 1024, 'x');
/** A call without an answer by then is a failure. */
const LIMIT_MS = 15_000;

/** Calls that go on while a test does something else. None is repeated: what fails here fails for a caller. */
export class SteadyLoad {
  readonly #options: Required<LoadOptions>;
  readonly #ending = new AbortController();
  readonly #loops: Promise<void>[];
  readonly #began = performance.now();
  #lastGood = performance.now();
  readonly #report: LoadReport = { calls: 0, posts: 0, failures: [], longestGapMs: 0, slowestMs: 0, slowestInTurn: [] };

  constructor(options: LoadOptions) {
    this.#options = { headers: {}, callers: 3, pauseMs: 40, postEvery: 12, ...options };
    this.#loops = Array.from({ length: this.#options.callers }, (_, index) => this.#loop(index));
  }

  /** The outcomes so far. */
  get report(): LoadReport {
    const { failures, slowestInTurn } = this.#report;
    return { ...this.#report, failures: [...failures], slowestInTurn: [...slowestInTurn] };
  }

  /** Lets the running calls end. @returns the outcome of each */
  async stop(): Promise<LoadReport> {
    this.#ending.abort();
    await Promise.all(this.#loops);
    this.#gap();
    return this.report;
  }

  async #loop(index: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let turn = index; !this.#ending.signal.aborted; turn++) {
      const isPost = turn % this.#options.postEvery === 0;
      await this.#call(agent, isPost);
      await new Promise((resolve) => setTimeout(resolve, this.#options.pauseMs));
    }
    agent.destroy();
  }

  async #call(agent: Agent, isPost: boolean): Promise<void> {
    const began = performance.now();
    const machineBegan = machineTime();
    const fault = await this.#exchange(agent, isPost).then(
      this.#options.fault,
      (error: unknown) => `${isPost ? 'POST' : 'GET'} ${String(error)}`,
    );
    const tookMs = performance.now() - began;
    this.#report.calls++;
    if (isPost) this.#report.posts++;
    this.#report.slowestMs = Math.max(this.#report.slowestMs, Math.round(tookMs));
    this.#take(machineTime() - machineBegan);
    if (fault === undefined) this.#gap();
    else
      this.#report.failures.push(
        `${((performance.now() - this.#began) / 1000).toFixed(1)} s: ${fault} (after ${Math.round(tookMs)} ms)`,
      );
  }

  #take(tookMs: number): void {
    const turns = this.#report.slowestInTurn;
    const turn = Math.floor((performance.now() - this.#began) / TURN_MS);
    // In a turn without an answer there is no call: the one that was waited for counts when it ends.
    while (turns.length <= turn) turns.push(0);
    turns[turn] = Math.max(turns[turn] ?? 0, Math.round(tookMs));
  }

  #gap(): void {
    const now = performance.now();
    this.#report.longestGapMs = Math.max(this.#report.longestGapMs, Math.round(now - this.#lastGood));
    this.#lastGood = now;
  }

  #exchange(agent: Agent, isPost: boolean): Promise<Outcome> {
    const body = isPost ? MIB : Buffer.alloc(0);
    const headers = {
      ...this.#options.headers,
      ...(isPost ? { 'content-length': body.length, 'content-type': 'application/octet-stream' } : {}),
    };
    return new Promise((resolve, reject) => {
      const call = request(this.#options.url, {
        agent,
        method: isPost ? 'POST' : 'GET',
        headers,
        signal: AbortSignal.timeout(LIMIT_MS),
      });
      call.once('error', reject);
      call.once('response', (answer) => {
        textOf(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text, posted: body.length }), reject);
      });
      call.end(body);
    });
  }
}

/** The one in the middle: what one call more or less, or one moment of the machine, does not change. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
