import { ApiClient, eventually, send, type Answer } from '../lib/api-client.ts';
import { startService, type Service } from '../lib/embedded-service.ts';
import { descendants } from '../lib/processes.ts';

/*
 * S3: whatever the handler of one function does to its process, another function sees no error at all, and the first is
 * well again within five seconds.
 */

const FATAL = `
const kept = [];
const deeds = {
  'an endless loop': () => { for (;;); },
  'process.exit': () => process.exit(0),
  'a heap that grows': () => { for (;;) kept.push(new Array(10_000).fill(Math.random())); },
  'buffers that grow': async () => { for (;;) { kept.push(Buffer.alloc(8 << 20, 1)); await new Promise(setImmediate); } },
  'an unhandled rejection': () => { Promise.reject(new Error('nobody catches this')); return new Promise(() => {}); },
  'a throw in a timer': () => { setTimeout(() => { throw new Error('nobody catches this'); }); return new Promise(() => {}); },
  'an aborted process': () => process.abort(),
};
export default async (c, ctx) => { await deeds[ctx.query.do]?.(); return c.text('well'); };`;

let service: Service;
let api: ApiClient;
let dangerous: string;

const run = (path: string): Promise<Answer> => send(`${service.functionUrl}/run${path}`);

beforeAll(async () => {
  service = await startService();
  api = new ApiClient(service.managementUrl, service.managementKey!);
  await api.source('side', { 'fatal.js': FATAL, 'calm.js': `export default (c) => c.text(String(process.pid));` });
  dangerous = await api.readyFunction({ name: 'F', handler: 'side/fatal.js', route: '/f', timeoutSeconds: 3, resources: { memoryMiB: 96 } });
  await api.readyFunction({ name: 'G', handler: 'side/calm.js', route: '/g' });
}, 60_000);

afterAll(() => service?.dispose(), 30_000);

/** Calls G without a pause until told to stop; gives each distinct answer that it had. */
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

const router = (): number[] => descendants(service.process.pid!).flatMap(({ pid, command }) => (command.includes('router/src/main.ts') ? [pid] : []));

describe('a handler that ends its process', () => {
  it.each([
    'an endless loop',
    'process.exit',
    'a heap that grows',
    'buffers that grow',
    'an unhandled rejection',
    'a throw in a timer',
    'an aborted process',
  ])(
    '(%s) gets its callers 502 or 504, is well within 5 s, and nobody else notices (S3)',
    async (deed) => {
      await api.functionWhen(dangerous, ({ status }) => status.readyReplicas === 1);
      const before = router();
      const calm = (await run('/g')).text;
      const stop = callG();
      const fatal = await run(`/f?do=${encodeURIComponent(deed)}`);
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
