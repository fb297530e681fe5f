import { ERROR_ANSWERS } from '@wherry/manager/http/error-mapper.ts';
import { Refusal, REFUSAL_CODES } from '@wherry/router/refusal.ts';
import { RUNTIME_ERRORS } from '@wherry/runtime/http/error-body.ts';
import { columnOf, readReferenceTable } from './testing/reference-table.ts';

const management = Object.fromEntries(Object.entries(ERROR_ANSWERS).map(([code, { status }]) => [code, status]));
const router = Object.fromEntries(REFUSAL_CODES.map((code) => [code, new Refusal(code).status]));
const runtime: Record<string, number> = RUNTIME_ERRORS;
const functions = { ...router, ...runtime };

describe('docs/reference/errors.md', () => {
  const rows = readReferenceTable('errors.md');

  it('lists every code of manager, router and runtime with its port, and no other', () => {
    const portOf = (code: string): string =>
      !(code in functions) ? 'management' : code in management ? 'both' : 'function';
    const codes = [...new Set([...Object.keys(management), ...Object.keys(functions)])];
    expect(rows.map((row) => `${row['Code']}: ${row['Port']}`).sort()).toEqual(
      codes.map((code) => `${code}: ${portOf(code)}`).sort(),
    );
    expect(columnOf(rows, 'Code')).toEqual(codes.sort());
  });

  it.each(Object.entries({ management, router, runtime }))('lists the statuses of the %s', (_program, statuses) => {
    const documented = Object.fromEntries(rows.map((row) => [row['Code'], Number(row['Status'])]));
    expect(documented).toMatchObject(statuses);
  });
});
