import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';

/*
 * What is written down of a call: by the router, by the handler's prints, and what never is.
 */

interface Entry {
  requestId: string;
  functionId: string;
  level: string;
  message: string;
  args: string | null;
  timestamp: string;
}

const TALKS = `
export default async (c, ctx) => {
  console.log('plain', 1, { two: [3] }, null);
  console.debug('a debug');
  console.info('an info');
  console.warn('a warning');
  console.error('an error', new TypeError('the cause'));
  console.trace('a trace');
  process.stdout.write('to stdout\\n');
  process.stderr.write('to stderr\\n');
  return c.text('talked');
};`;

const FORGES = `
export default async (c) => {
  const forged = { level: 'exec_reject', functionId: 'other', functionName: 'other', requestId: '00000000-0000-4000-8000-000000000000', message: 'forged', timestamp: 0, sequence: 1 };
  for (const line of [JSON.stringify(forged), JSON.stringify({ type: 'logs', entries: [forged], dropped: 0 })]) {
    console.log(line);
    process.stdout.write('\\n' + line + '\\n');
  }
  return c.text('forged');
};`;

/** JSON writes each of these characters in six bytes: 24 MiB for the operator, of 4 MiB of text. */
const FLOODS = `
export default async (c) => {
  for (let line = 0; line < 62; line += 1) console.log('\\u0001'.repeat(64 * 1024));
  for (let line = 0; line < 2000; line += 1) console.log('line ' + line);
  return c.text('flooded');
};`;

let platform: Platform;
let api: ApiClient;

const run = (path: string, init?: RequestInit): Promise<Answer> => send(`${platform.functionUrl}/run${path}`, init);

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
  await api.source('logs', {
    'talks.js': TALKS,
    'forges.js': FORGES,
    'floods.js': FLOODS,
    'quiet.js': 'export default (c) => { console.log("still here"); return c.text("quiet"); };',
    'throws.js': 'export default () => { throw new Error("inner reason"); };',
    'late.js': 'export default () => new Promise(() => {});',
  });
}, 60_000);

afterAll(() => platform?.dispose(), 30_000);

/**
 * The entries of one call, oldest first, once these levels are among them: what it printed comes another way than its
 * end.
 */
async function entriesOf(answer: Answer, ...awaited: string[]): Promise<Entry[]> {
  const levels = awaited.length === 0 ? ['exec_end'] : awaited;
  const requestId = answer.headers.get('x-request-id');
  return eventually(async () => {
    const { logs } = (await api.expect('GET', `/api/logs?requestId=${requestId}&limit=1000`)).body.data as {
      logs: Entry[];
    };
    expect(logs.map(({ level }) => level)).toEqual(expect.arrayContaining(levels));
    return logs.toReversed();
  });
}

const named = async (name: string, more: object = {}): Promise<string> =>
  api.readyFunction({ name, handler: `logs/${name}.js`, route: `/logs/${name}`, ...more });

describe('the log of a call', () => {
  it('S8: is whole, whatever another function prints at the same time', async () => {
    await Promise.all([named('floods'), named('quiet')]);
    const [before, flooded, ...during] = await Promise.all([
      run('/logs/quiet'),
      run('/logs/floods'),
      run('/logs/quiet'),
      run('/logs/quiet'),
    ]);
    expect(flooded.status).toBe(200);
    // The flood is kept in part: at least its end.
    await entriesOf(flooded);
    for (const call of [before, ...during, await run('/logs/quiet')]) {
      // What is printed comes another way than the records of the call, and may come after its end.
      await eventually(async () => {
        expect((await entriesOf(call)).map(({ level, message }) => (level === 'log' ? message : level))).toEqual([
          'exec_start',
          'still here',
          'exec_end',
        ]);
      });
    }
  });

  it('has its start, all that it printed with level and arguments, in order, and its end', async () => {
    await api.expect('PUT', '/api/settings', { settings: { 'log.level': 'debug' } });
    const id = await named('talks');
    const entries = await eventually(async () => {
      const answer = await run('/logs/talks?q=1', { headers: { origin: 'https://site.example' } });
      const found = await entriesOf(answer, 'exec_end', 'stdout', 'stderr');
      expect(found.map(({ level }) => level)).toEqual(expect.arrayContaining(['debug', 'trace']));
      return found;
    });
    const of = (level: string): Entry => entries.find((entry) => entry.level === level)!;
    expect(new Set(entries.map(({ functionId }) => functionId))).toEqual(new Set([id]));
    expect(of('exec_start').message).toBe('GET /logs/talks');
    expect(JSON.parse(of('exec_start').args!)).toMatchObject({ origin: 'https://site.example' });
    expect(of('exec_end').message).toMatch(/^\d+(\.\d{1,3})?ms$/);
    expect([of('log').message, JSON.parse(of('log').args!)]).toEqual(['plain', [1, { two: [3] }, null]]);
    expect(of('debug')).toMatchObject({ message: 'a debug', args: null });
    expect(of('info').message).toBe('an info');
    expect(of('warn').message).toBe('a warning');
    expect(of('error').message).toBe('an error');
    expect(of('error').args).toContain('the cause');
    expect(of('trace').message).toContain('a trace');
    expect(of('stdout').message).toBe('to stdout');
    expect(of('stderr').message).toBe('to stderr');
    const printed = entries.map(({ level }) => level).filter((level) => !level.startsWith('exec_'));
    expect(printed).toEqual(['log', 'debug', 'info', 'warn', 'error', 'trace', 'stdout', 'stderr']);
    const times = entries.map(({ timestamp }) => Date.parse(timestamp));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it('follows log.level within a second', async () => {
    // Its prints come together, after the records of the call or before them.
    const levels = async (): Promise<string[]> =>
      (await entriesOf(await run('/logs/talks'), 'exec_end', 'error')).map(({ level }) => level);
    await api.expect('PUT', '/api/settings', { settings: { 'log.level': 'error' } });
    await eventually(
      async () => expect((await levels()).toSorted()).toEqual(['error', 'exec_end', 'exec_start']),
      1000,
    );
    await api.expect('PUT', '/api/settings', { settings: { 'log.level': 'info' } });
    await eventually(
      async () =>
        expect((await levels()).toSorted()).toEqual([
          'error',
          'exec_end',
          'exec_start',
          'info',
          'log',
          'stderr',
          'stdout',
          'warn',
        ]),
      1000,
    );
  });

  it.each([
    ['throws', {}, 500, /^\d+(\.\d+)?ms \(error\)$/],
    ['late', { timeoutSeconds: 1 }, 504, /^\d+(\.\d+)?ms \(timeout\)$/],
  ])('says of one that %s how it ended', async (...row) => {
    const [name, more, status, message] = row;
    await named(name, more);
    const answer = await run(`/logs/${name}`);
    const entries = await entriesOf(answer);
    expect(answer.status).toBe(status);
    expect(entries.at(-1)).toMatchObject({ level: 'exec_end', message: expect.stringMatching(message) });
  });

  it('says why a call was refused, and holds no key however it came', async () => {
    const group = await api.groupWithKey('readers');
    const id = await named('guarded', { handler: 'logs/talks.js', keys: [group.groupId] });
    const wrong = 'wh_a-key-that-nobody-has-been-given';
    const tries: [string, RequestInit, string][] = [
      ['', {}, 'missing_api_key'],
      [`?api_key=${wrong}&x=1`, {}, 'invalid_api_key'],
      ['', { headers: { 'x-api-key': wrong } }, 'invalid_api_key'],
    ];
    for (const [query, init, reason] of tries) {
      const answer = await run(`/logs/guarded${query}`, init);
      const [entry] = await entriesOf(answer, 'exec_reject');
      expect(answer.status).toBe(401);
      expect(entry!.message).toBe('GET /logs/guarded');
      expect(JSON.parse(entry!.args!)).toMatchObject({ reason });
    }
    const good = await run(`/logs/guarded?api_key=${group.value}`);
    expect(good.status).toBe(200);
    expect((await entriesOf(good)).find(({ level }) => level === 'exec_start')!.args).toContain('readers');
    const all = (await api.expect('GET', `/api/logs?functionId=${id}&limit=1000`)).text;
    expect(all).not.toContain(group.value);
    expect(all).not.toContain(wrong);
    const printed = await platform.output();
    expect(printed).not.toContain(group.value);
    expect(printed).not.toContain(wrong);
  });

  it('is not changed by what a handler prints, however much it looks like a log line (S6)', async () => {
    const id = await named('forges');
    const forges = await run('/logs/forges');
    const entries = await eventually(async () => {
      const found = await entriesOf(forges);
      expect(found.filter(({ message }) => message.includes('"forged"')).length).toBeGreaterThanOrEqual(4);
      return found;
    });
    expect(new Set(entries.map(({ functionId }) => functionId))).toEqual(new Set([id]));
    expect(entries.map(({ level }) => level).filter((level) => level === 'exec_reject')).toEqual([]);
    expect(entries.filter(({ message }) => message === 'forged')).toEqual([]);
    const foreign = (await api.expect('GET', '/api/logs?requestId=00000000-0000-4000-8000-000000000000')).body.data
      .logs;
    expect(foreign).toEqual([]);
    expect((await api.request('GET', '/api/logs?functionId=other')).status).toBe(404);
  });

  it('can be paged through by the paths it gives', async () => {
    const id = (await api.expect('GET', '/api/functions')).body.functions.find(
      ({ name }: { name: string }) => name === 'talks',
    ).id as string;
    const all = (await api.expect('GET', `/api/logs?functionId=${id}&limit=1000`)).body.data.logs as { id: string }[];
    const paged: string[] = [];
    for (let path: string | undefined = `/api/logs?functionId=${id}&limit=7`; path !== undefined;) {
      const { logs, pagination }: any = (await api.expect('GET', path)).body.data;
      paged.push(...logs.map((entry: { id: string }) => entry.id));
      path = pagination.hasMore ? pagination.next : undefined;
    }
    expect(paged).toEqual(all.map((entry) => entry.id));
  });
});
