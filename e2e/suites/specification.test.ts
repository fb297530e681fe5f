import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TEST_CLUSTER } from '../cluster/test-cluster.ts';
import { ApiClient } from '../testing/api-client.ts';
import { removeAll, startPlatform, type Platform } from '../testing/platform.ts';
import { unprovedBy, type Unproved } from '../specification/completeness.ts';
import { SETTINGS } from '../specification/documented.ts';
import {
  ANSWERS_ELSEWHERE,
  CODES_ELSEWHERE,
  LIMITS_ELSEWHERE,
  STATUSES_ELSEWHERE,
  type Elsewhere,
} from '../specification/proved-elsewhere.ts';
import { RowRunner } from '../specification/row-runner.ts';
import { TABLES } from '../specification/tables.ts';

/*
 * Every endpoint, rule, error and limit of the interface, in tables. Rows that Kubernetes can make a difference to run
 * in a cluster too.
 */

const isInCluster = process.env[TEST_CLUSTER] !== undefined;
const tables = TABLES.filter((table) => !isInCluster || table.inCluster);

let platform: Platform;
let api: ApiClient;

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
}, 60_000);

afterAll(() => platform?.dispose(), 30_000);

describe.each(tables.map((table) => [table.title, table] as const))('%s', (_title, { rows }) => {
  let runner: RowRunner;

  beforeAll(async () => {
    const setupToken = /first user is created: (\S+)/.exec(isInCluster ? '' : await platform.output())?.[1];
    runner = new RowRunner(platform, setupToken === undefined ? {} : { setupToken });
  });
  afterAll(async () => {
    runner?.close();
    await removeAll(api);
    await api?.expect('PUT', '/api/settings', {
      settings: Object.fromEntries(SETTINGS.map(({ name }) => [name, null])),
    });
  }, 30_000);

  const here = rows.filter(({ oneMachine }) => !isInCluster || oneMachine === undefined);
  it.each(
    here.map((row) => [`${row.says} (${row.sends[0]} ${row.sends[1].slice(0, 60)}: ${row.answers})`, row] as const),
  )('%s', (_name, row) => runner.run(row), 60_000);
});

describe('the tables', () => {
  const root = join(import.meta.dirname, '../..');
  const lists: readonly (readonly [keyof Unproved, Record<string, Elsewhere>])[] = [
    ['answers', ANSWERS_ELSEWHERE],
    ['codes', CODES_ELSEWHERE],
    ['limits', LIMITS_ELSEWHERE],
  ];

  it.each(lists)('prove all %s that the pages promise, except those of a list', (part, elsewhere) => {
    expect(unprovedBy(TABLES)[part].sort()).toEqual(Object.keys(elsewhere).sort());
  });

  it('name files that exist for what they do not prove', () => {
    const named = [STATUSES_ELSEWHERE, ...lists.map(([, elsewhere]) => elsewhere)].flatMap((list) =>
      Object.values(list).map(({ where }) => where),
    );
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });
});
