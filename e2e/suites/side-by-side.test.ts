import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { startService, type Service } from '../testing/embedded-service.ts';
import { FATAL_DEEDS, FATAL_HANDLER, fatalQuery } from '../testing/fatal-handler.ts';
import { descendants } from '../testing/processes.ts';

/*
 * S3: whatever the handler of one function does to its process, another function sees no error at all, and the first is
 * well again within five seconds.
 */

/**
 * Prints at each start, and is never ready: an error outside a call ends it, which leaves what it printed in the log.
 */
const CRASHES = `
for (let line = 0; line < 64; line += 1) console.log('x'.repeat(1024));
setTimeout(() => { throw new Error('nobody catches this'); });
await new Promise((resolve) => setTimeout(resolve, 60_000));
export default (c) => c.text('never');`;
const talks = (word: string): string =>
  `export default (c) => { console.log('${word} said'); return c.text('${word}'); };`;

let service: Service;
let api: ApiClient;
let dangerous: string;

const run = (path: string): Promise<Answer> => send(`${service.functionUrl}/run${path}`);

beforeAll(async () => {
  service = await startService();
  api = new ApiClient(service.managementUrl, service.managementKey!);
  await api.source('side', {
    'fatal.js': FATAL_HANDLER,
    'calm.js': `export default (c) => c.text(String(process.pid));`,
  });
  dangerous = await api.readyFunction({
    name: 'F',
    handler: 'side/fatal.js',
    route: '/f',
    timeoutSeconds: 3,
    resources: { memoryMiB: 96 },
  });
  await api.readyFunction({ name: 'G', handler: 'side/calm.js', route: '/g' });
}, 60_000);

afterAll(() => service?.dispose(), 30_000);

/** Calls G without a pause until stopped; gives each distinct answer that it had. */
function callG(): () => Promise<{ calls: number; answers: string[] }> {
  const ending = new AbortController();
  const seen = new Set<string>();
  let calls = 0;
  const loop = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const answer = await run('/g').catch((error: unknown) => ({ status: String(error), text: '' }));
      seen.add(`${answer.status} ${answer.text}`);
      calls += 1;
    }
  };
  const loops = [loop(), loop()];
  return async () => {
    ending.abort();
    await Promise.all(loops);
    return { calls, answers: [...seen] };
  };
}

const router = (): number[] =>
  descendants(service.process.pid!).flatMap(({ pid, command }) =>
    command.includes('router/src/main.ts') ? [pid] : [],
  );

describe('a handler that ends its process', () => {
  it.each(FATAL_DEEDS)(
    '(%s) gets its callers 502 or 504, is well within 5 s, and nobody else notices (S3)',
    async (deed) => {
      await api.functionWhen(dangerous, ({ status }) => status.readyReplicas === 1);
      const before = router();
      const calm = (await run('/g')).text;
      const stop = callG();
      const fatal = await run(`/f${fatalQuery(deed)}`);
      const failedAt = machineTime();
      const next = await eventually(async () => {
        const answer = await run('/f');
        expect(answer.status).toBe(200);
        return answer;
      });
      const wellAfter = machineTime() - failedAt;
      const { calls, answers } = await stop();
      expect([502, 504]).toContain(fatal.status);
      expect(['runtime_crashed', 'timeout']).toContain(fatal.body.code);
      expect(next.text).toBe('well');
      expect(wellAfter).toBeLessThan(5000);
      expect(answers).toEqual([`200 ${calm}`]);
      expect(calls).toBeGreaterThan(0);
      expect(router()).toEqual(before);
      expect(before).toHaveLength(1);
    },
    30_000,
  );
});

describe('a service that has no file descriptor left', () => {
  const softLimit = (limit: string): Promise<unknown> =>
    promisify(execFile)('prlimit', [`--pid=${service.process.pid!}`, `--nofile=${limit}:`]);

  it('S3: stays, serves what runs, and starts what ended meanwhile as soon as it can', async () => {
    const limit = /^Max open files\s+(\d+)/m.exec(await readFile(`/proc/${service.process.pid!}/limits`, 'utf8'))![1]!;
    const ended = Number((await run('/g')).text);
    await softLimit('3');
    try {
      process.kill(ended, 'SIGKILL');
      await eventually(() => expect(service.output()).toContain('no file descriptor is left'));
      expect((await run('/f')).text).toBe('well');
    } finally {
      await softLimit(limit);
    }
    await eventually(async () => expect((await run('/g')).status).toBe(200));
    expect(service.process.exitCode).toBeNull();
  }, 60_000);
});

describe('functions in a crash loop', () => {
  const crashing = async (id: string): Promise<unknown> =>
    api.functionWhen(id, ({ status }) => status.ready === false && status.reason === 'CrashLoop');

  /** What the log has of a call, once its end is there and what it printed. */
  const logOf = (answer: Answer): Promise<string[]> =>
    eventually(async () => {
      const { logs } = (await api.expect('GET', `/api/logs?requestId=${answer.headers.get('x-request-id')}`)).body.data;
      expect(logs).toHaveLength(3);
      return logs.map(({ level, message }: Record<string, string>) => (level === 'log' ? message : level)).toSorted();
    });

  it('S8: print at each start, and keep no other function from starting, from new code and from its log', async () => {
    const sourceId = await api.source('loops', { 'crashes.js': CRASHES, 'talks.js': talks('first') });
    // As many as start at once on a machine with two processors.
    const loops = ['A', 'B'].map((name) =>
      api.function({ name: `Crashes ${name}`, handler: 'loops/crashes.js', route: `/crashes-${name}` }),
    );
    const ids = await Promise.all(loops);
    await Promise.all(ids.map(crashing));
    await api.readyFunction({ name: 'Talks', handler: 'loops/talks.js', route: '/talks' });
    for (const word of ['first', 'second']) {
      await api.upload(sourceId, 'talks.js', talks(word));
      const answer = await eventually(async () => {
        const next = await run('/talks');
        expect(next.text).toBe(word);
        return next;
      });
      expect(await logOf(answer)).toEqual(['exec_end', 'exec_start', `${word} said`]);
    }
    await Promise.all(ids.map(crashing));
    const { logs } = (await api.expect('GET', `/api/logs?functionId=${ids[0]}&limit=10`)).body.data;
    expect(logs.map(({ message }: { message: string }) => message.length)).toContain(1024);
  }, 30_000);
});
