import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ApiClient } from '../testing/api-client.ts';
import type { Service } from '../testing/embedded-service.ts';
import { MATRIX, type Row } from './matrix.ts';
import { startPackageService } from './package-service.ts';
import { writeResults } from './results-file.ts';
import { runMatrix } from './run-matrix.ts';
import type { Outcome } from './run-row.ts';
import { sourceOf, specifiersOf } from './sources.ts';
import { verdicts } from './table.ts';

/*
 * The packages that authors use most, each used by a handler: what works, and the reason of what does not, as
 * docs/reference/packages.md says it.
 */

const ROW_LIMIT_MS = 600_000;
const worked = ({ expected }: Row): boolean => 'answer' in expected;

let service: Service;
let outcomes: Map<string, Promise<Outcome>>;

beforeAll(async () => {
  service = await startPackageService();
  outcomes = runMatrix(MATRIX, service, new ApiClient(service.managementUrl, service.managementKey!));
}, 60_000);

afterAll(async () => {
  const seen = await Promise.allSettled(outcomes?.values() ?? []);
  await writeResults(seen.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
  await service?.dispose();
}, ROW_LIMIT_MS);

describe('a handler that uses', () => {
  it.each(MATRIX.filter(worked).map((row) => [row.package, row] as const))(
    '%s answers what the package came to',
    async (_name, row) => {
      const outcome = await outcomes.get(row.name);
      expect(outcome?.failure).toBeUndefined();
      expect(outcome?.answer).toEqual({ status: 200, body: (row.expected as { answer: unknown }).answer });
    },
    ROW_LIMIT_MS,
  );

  it.each(MATRIX.filter((row) => !worked(row)).map((row) => [row.package, row] as const))(
    '%s is refused with a reason and what to do',
    async (_name, row) => {
      const { reason, message } = row.expected as { reason: string; message: RegExp };
      const outcome = await outcomes.get(row.name);
      expect(outcome?.answer).toBeUndefined();
      expect(outcome?.failure).toEqual({ reason, message: expect.stringMatching(message) });
    },
    ROW_LIMIT_MS,
  );
});

it('requires exactly the versions that the matrix names', () => {
  for (const row of MATRIX) {
    const { handler, files } = sourceOf(row);
    const manifest = JSON.parse(files['package.json'] ?? '{}') as { dependencies?: Record<string, string> };
    expect({ name: row.name, ...specifiersOf(files[handler] ?? ''), ...manifest.dependencies }).toEqual({
      name: row.name,
      ...row.packages,
    });
  }
});

it('docs/reference/packages.md says of each package whether it works', () => {
  const page = readFileSync(path.join(import.meta.dirname, '../../docs/reference/packages.md'), 'utf8');
  expect(verdicts(page)).toEqual(
    MATRIX.map((row) => `${row.package}@${row.packages[row.package]}: ${worked(row) ? 'yes' : 'no'}`),
  );
});
