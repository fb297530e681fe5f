import { ALL_ENDPOINTS } from '@wherry/manager/openapi/all-endpoints.ts';
import { productSources } from './testing/product-sources.ts';
import { columnOf, readReferenceTable } from './testing/reference-table.ts';

describe('docs/reference/audit.md', () => {
  const rows = readReferenceTable('audit.md', 'Actions');

  it('lists every action of an endpoint, with its requests, and those of the service itself', () => {
    const requests = Map.groupBy(
      ALL_ENDPOINTS.filter(({ audit }) => audit !== undefined),
      ({ audit }) => audit?.action,
    );
    const written = productSources().flatMap(({ text }) =>
      [...text.matchAll(/action: '([a-z-]+\.[a-z-]+)'/g)].map(([, action = '']) => action),
    );
    expect(columnOf(rows, 'Action')).toEqual([...new Set([...requests.keys(), ...written].map(String))].sort());
    for (const row of rows) {
      const documented = (row['When'] ?? '').match(/[A-Z]{3,} \/[^`?, ]+/g) ?? [];
      const declared = requests.get(row['Action'] as `${string}.${string}`) ?? [];
      expect([row['Action'], documented.sort()]).toEqual([
        row['Action'],
        declared.map(({ method, path }) => `${method.toUpperCase()} ${path.replace('{*', '{')}`).sort(),
      ]);
    }
  });
});
