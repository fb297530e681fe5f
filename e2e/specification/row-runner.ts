import { Agent, request, type IncomingMessage } from 'node:http';
import { eventually } from '../testing/api-client.ts';
import type { Platform } from '../testing/platform.ts';
import type { Row } from './row.ts';

interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  text: string;
  /** Undefined where it is not JSON. */
  body: unknown;
}

/** What takes seconds is looked for less often. */
const EVERY_MS = 500;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Sends the requests of one table, and compares what answers them with what the rows say. */
export class RowRunner {
  readonly #platform: Platform;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #kept: Map<string, string>;

  /** @param given names that no row has to keep. */
  constructor(platform: Platform, given: Record<string, string>) {
    this.#platform = platform;
    this.#kept = new Map(Object.entries(given));
  }

  async run({ soon, ...given }: Row): Promise<void> {
    const row = this.#filled({ ...given, says: '' });
    const attempt = async (): Promise<void> => this.#compare(row, await this.#send(row));
    if (soon === undefined) await attempt();
    else await (soon === true ? eventually(attempt) : eventually(attempt, soon, EVERY_MS));
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(row: Row): Promise<Answer> {
    const [method, path] = row.sends;
    const isRun = row.port === 'function' || path.startsWith('/run');
    const { hostname: host, port } = new URL(isRun ? this.#platform.functionUrl : this.#platform.managementUrl);
    const { content, ...body } = this.#body(row);
    const headers = { ...body.headers, ...this.#credentials(row, isRun), ...row.headers };
    // What says that it is longer than it is leaves a connection that is of no more use.
    const hasOwnConnection = row.from !== undefined || row.headers?.['content-length'] !== undefined;
    const options = { host, port, method, path, headers, agent: hasOwnConnection ? false : this.#agent } as const;
    return new Promise((resolve, reject) => {
      const sent = request({ ...options, ...(row.from !== undefined && { localAddress: row.from }) }, (answer) => {
        read(answer, row.readsUntil).then(resolve, reject);
      });
      sent.on('error', reject);
      sent.end(content);
    });
  }

  #body({ sends: [, , body] }: Row): { content: string | Buffer; headers: Record<string, string | number> } {
    if (body === undefined) return { content: '', headers: {} };
    const isJson = typeof body === 'object' && !Buffer.isBuffer(body);
    const content = isJson ? JSON.stringify(body) : body;
    const headers = { 'content-length': Buffer.byteLength(content) };
    return { content, headers: { ...headers, ...(isJson && { 'content-type': 'application/json' }) } };
  }

  #credentials({ as }: Row, isRun: boolean): Record<string, string> {
    if (as === 'nobody' || (as === undefined && isRun)) return {};
    if (as === undefined) return { 'x-api-key': this.#platform.managementKey };
    if ('key' in as) return { 'x-api-key': as.key };
    return { cookie: this.#valueOf(as.session), 'sec-fetch-site': 'same-origin' };
  }

  #compare(row: Row, answer: Answer): void {
    const { status, headers, body, text } = answer;
    expect({ status, body: body ?? text }).toMatchObject({
      status: row.answers,
      ...(row.code !== undefined && {
        body: { code: row.code, error: expect.stringMatching(/^\S.*\S$/s), requestId: headers['x-request-id'] },
      }),
    });
    expect(headers['x-request-id']).toMatch(UUID);
    this.#compareBody(row, answer);
    for (const [name, value] of Object.entries(row.with ?? {}))
      expect({ [name]: headers[name] }).toEqual({ [name]: value });
    for (const [name, path] of Object.entries(row.keeps ?? {})) this.#keep(name, valueAt(answer, path));
  }

  #compareBody({ body, whole, text, hides = [] }: Row, answer: Answer): void {
    if (body !== undefined) expect(answer.body).toMatchObject(body as object);
    if (whole !== undefined) expect(answer.body).toEqual(whole);
    if (typeof text === 'string') expect(answer.text).toBe(text);
    else if (text !== undefined) expect(answer.text).toMatch(text);
    for (const hidden of hides) expect(answer.text).not.toContain(hidden);
  }

  #keep(name: string, value: unknown): void {
    if (typeof value !== 'string' && typeof value !== 'number') throw new Error(`there is nothing to keep as ${name}`);
    this.#kept.set(name, String(value));
  }

  /** With the values of the names in all its texts. */
  #filled<T>(given: T): T {
    if (typeof given === 'string') return given.replaceAll(/<([a-z]\w*)>/gi, (_, name) => this.#valueOf(name)) as T;
    if (Array.isArray(given)) return given.map((one: unknown) => this.#filled(one)) as T;
    if (typeof given !== 'object' || given === null) return given;
    // A matcher of jest: what it compares with.
    if ('sample' in given && Object.getPrototypeOf(given) !== Object.prototype)
      return Object.assign(Object.create(Object.getPrototypeOf(given) as object) as T & object, given, {
        sample: this.#filled(given.sample),
      });
    if (Object.getPrototypeOf(given) !== Object.prototype) return given;
    return Object.fromEntries(Object.entries(given).map(([key, one]) => [this.#filled(key), this.#filled(one)])) as T;
  }

  #valueOf(name: string): string {
    const value = this.#kept.get(name);
    if (value === undefined) throw new Error(`no row before this one has kept <${name}>`);
    return value;
  }
}

async function read(answer: IncomingMessage, end: string | undefined): Promise<Answer> {
  answer.setEncoding('utf8');
  let text = '';
  for await (const chunk of answer) {
    text += String(chunk);
    // Leaving the loop ends the connection.
    if (end !== undefined && text.includes(end)) break;
  }
  const headers = Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
  return { status: answer.statusCode ?? 0, headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `a.b` of the body; of the header `@name`, what precedes its first `;`; the first group of an expression. */
function valueAt({ headers, body, text }: Answer, path: string | RegExp): unknown {
  if (typeof path !== 'string') return path.exec(text)?.[1];
  if (path.startsWith('@')) return headers[path.slice(1)]?.split(';', 1)[0];
  return path.split('.').reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], body);
}
