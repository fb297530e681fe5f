import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient, eventually, send } from '../testing/api-client.ts';
import { startService, type Service } from '../testing/embedded-service.ts';

/*
 * The whole service is killed with SIGKILL while it takes writes through the API. Each time it starts again on what is
 * left: what was acknowledged last is there, what was under way is there wholly or not at all, and the function
 * answers.
 */

const ROUNDS = 12;

let folder: string;
let service: Service | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-e2e-'));
});

afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
}, 30_000);

/** One thing that is written again and again: the number that was acknowledged last, and the one that was sent last. */
interface Written {
  acknowledged: number;
  sent: number;
}

/** Writes the next number and the next, until the service is gone. */
async function writeOn(written: Written, write: (n: number) => Promise<unknown>): Promise<void> {
  for (;;) {
    written.sent += 1;
    const done = await write(written.sent).then(
      () => true,
      (error: unknown) => isCutOff(error),
    );
    if (done !== true) return;
    written.acknowledged = written.sent;
  }
}

/** False where the connection broke, as it must when the service dies; any answer but success is a failure. */
function isCutOff(error: unknown): false {
  if (error instanceof TypeError) return false;
  throw error;
}

const handler = (n: number): string => `export default (c) => c.text("${n} ${'x'.repeat(20_000)} ${n}");`;
const possible = ({ acknowledged, sent }: Written): number[] => (acknowledged === sent ? [sent] : [acknowledged, sent]);

describe('a service that is killed during writes', () => {
  it(`has what it acknowledged, and answers, in each of ${ROUNDS} rounds`, async () => {
    const managementKey = 'the-key-of-this-test';
    const file: Written = { acknowledged: 0, sent: 0 };
    const description: Written = { acknowledged: 0, sent: 0 };
    const keys: Written = { acknowledged: 0, sent: 0 };
    const definition = { name: 'survivor', handler: 'survivors/handler.js', route: '/survivor', methods: ['GET'] };
    let ids: { source: string; function: string; group: string } | undefined;

    for (let round = 0; ; round++) {
      service = await startService({
        dataDirectory: join(folder, 'data'),
        environment: { WHERRY_MANAGEMENT_KEY: managementKey },
      });
      const api = new ApiClient(service.managementUrl, managementKey);
      if (ids === undefined) {
        const source = await api.source('survivors', { 'handler.js': handler(0) });
        const group = (await api.expect('POST', '/api/key-groups', { name: 'survivors' })).body.id as string;
        ids = { source, group, function: await api.readyFunction({ ...definition, description: '0' }) };
      } else {
        await expectWritten(api, ids, { file, description, keys });
      }
      if (round === ROUNDS) break;

      const { source, group, function: id } = ids;
      const writers = [
        writeOn(file, (n) => api.upload(source, 'handler.js', handler(n))),
        writeOn(description, (n) =>
          api.expect('PUT', `/api/functions/${id}`, { ...definition, description: String(n) }),
        ),
        writeOn(keys, (n) =>
          api.expect('POST', '/api/keys', { groupId: group, name: `key-${n}`, value: `the-value-of-key-${n}` }),
        ),
      ];
      const written = [file, description, keys];
      const before = written.map(({ acknowledged }) => acknowledged);
      await eventually(() =>
        written.forEach(({ acknowledged }, n) => expect(acknowledged).toBeGreaterThan(before[n]!)),
      );
      // Each round is cut at another point of what goes on.
      await new Promise((resolve) => setTimeout(resolve, (round * 7) % 40));
      await service.stop('SIGKILL');
      await Promise.all(writers);
    }
    expect(Math.min(file.acknowledged, description.acknowledged, keys.acknowledged)).toBeGreaterThanOrEqual(ROUNDS);
  }, 180_000);

  async function expectWritten(
    api: ApiClient,
    ids: { source: string; function: string; group: string },
    { file, description, keys }: Record<'file' | 'description' | 'keys', Written>,
  ): Promise<void> {
    const content = (await api.expect('GET', `/api/sources/${ids.source}/files/handler.js`)).text;
    file.acknowledged = possible(file).find((n) => handler(n) === content) ?? NaN;
    const fn = (await api.expect('GET', `/api/functions/${ids.function}`)).body.function;
    const list = (await api.expect('GET', `/api/keys?groupId=${ids.group}&includeValues=true`)).body.keys as {
      name: string;
      value: string;
    }[];
    expect(file.acknowledged).not.toBeNaN();
    expect(possible(description)).toContain(Number(fn.description));
    expect(possible(keys)).toContain(list.length);
    expect(list.filter(({ name, value }) => value !== `the-value-of-${name}`)).toEqual([]);
    expect(new Set(list.map(({ name }) => name)).size).toBe(list.length);
    description.acknowledged = Number(fn.description);
    keys.acknowledged = list.length;
    keys.sent = list.length;
    await eventually(async () => {
      const answer = await send(`${service!.functionUrl}/run/survivor`);
      expect([answer.status, answer.text.split(' ')[0]]).toEqual([200, String(file.acknowledged)]);
    }, 5000);
    await api.functionWhen(ids.function, ({ status }) => status.ready === true);
  }
});
