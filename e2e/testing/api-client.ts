import { machineTime } from '../tooling/machine-time.ts';

/** An answer of the management API or of a function. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined where it is not JSON. */
  body: any;
}

/** The management API as a script would use it. */
export class ApiClient {
  readonly #url: string;
  readonly #key: string;

  constructor(managementUrl: string, key: string) {
    this.#url = managementUrl;
    this.#key = key;
  }

  /** One request with the management key; `body` is sent as JSON unless `init` says otherwise. */
  request(method: string, path: string, body?: unknown, init: RequestInit = {}): Promise<Answer> {
    const json =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const headers = {
      ...json.headers,
      'x-api-key': this.#key,
      ...(init.headers as Record<string, string> | undefined),
    };
    return send(this.#url + path, { ...json, ...init, method, headers });
  }

  /** The same, for a request that must succeed. */
  async expect(method: string, path: string, body?: unknown, init: RequestInit = {}): Promise<Answer> {
    const answer = await this.request(method, path, body, init);
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    return answer;
  }

  /** Creates or replaces one file. */
  async upload(sourceId: string, path: string, content: string): Promise<Answer> {
    const init = { body: content, headers: { 'content-type': 'application/octet-stream' } };
    return this.expect('PUT', `/api/sources/${sourceId}/files/${encodeURIComponent(path)}`, undefined, init);
  }

  /** Creates a manual source with these files; returns its id. */
  async source(name: string, files: Record<string, string> = {}): Promise<string> {
    const id = (await this.expect('POST', '/api/sources', { name, type: 'manual' })).body.id as string;
    for (const [path, content] of Object.entries(files)) await this.upload(id, path, content);
    return id;
  }

  /** Creates a function on GET of the route unless specified otherwise; returns its id. */
  async function(
    definition: { name: string; handler: string; route: string } & Record<string, unknown>,
  ): Promise<string> {
    return (await this.expect('POST', '/api/functions', { methods: ['GET'], ...definition })).body.function
      .id as string;
  }

  /** The same, and waits until it serves. */
  async readyFunction(definition: Parameters<ApiClient['function']>[0]): Promise<string> {
    const id = await this.function(definition);
    await this.functionWhen(id, ({ status }) => status.ready === true);
    return id;
  }

  /** Creates a group and a key in it. */
  async groupWithKey(group: string, key = 'first'): Promise<{ groupId: string; keyId: string; value: string }> {
    const groupId = (await this.expect('POST', '/api/key-groups', { name: group })).body.id as string;
    const { id, value } = (await this.expect('POST', '/api/keys', { groupId, name: key })).body as {
      id: string;
      value: string;
    };
    return { groupId, keyId: id, value };
  }

  /** The function once `done` holds of it; throws with its last state after ten seconds unless specified otherwise. */
  async functionWhen(id: string, done: (fn: any) => boolean, deadlineMs?: number): Promise<any> {
    return eventually(async () => {
      const { function: fn } = (await this.expect('GET', `/api/functions/${id}`)).body;
      if (!done(fn)) throw new Error(`the function is not so yet: ${JSON.stringify(fn.status)}`);
      return fn;
    }, deadlineMs);
  }
}

/** One HTTP request; redirects are answers. */
export async function send(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  return { status: response.status, headers: response.headers, text, body };
}

/** Pods of a cluster start in seconds, processes of one machine in milliseconds. */
const PATIENCE_MS = process.env.WHERRY_TEST_CLUSTER === undefined ? 10_000 : 45_000;

/** An attempt costs a request, and in a cluster often a start of kubectl. */
const PAUSE = { share: 0.1, shortestMs: 25, longestMs: process.env.WHERRY_TEST_CLUSTER === undefined ? 150 : 500 };

/**
 * Tries again until it does not throw, ten seconds (in a cluster 45) unless specified otherwise; then throws what it
 * threw last. The seconds are those of a machine that has nothing else to do. It pauses for a tenth of the time that it
 * has tried: what takes long is tried less often.
 */
export async function eventually<T>(
  attempt: () => Promise<T> | T,
  deadlineMs = PATIENCE_MS,
  everyMs?: number,
): Promise<T> {
  const begun = performance.now();
  const end = machineTime() + deadlineMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (machineTime() > end) throw error;
      const pause = Math.max(PAUSE.shortestMs, PAUSE.share * (performance.now() - begun));
      await new Promise((resolve) => setTimeout(resolve, everyMs ?? Math.min(pause, PAUSE.longestMs)));
    }
  }
}
