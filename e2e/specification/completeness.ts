import { ANSWERED_LIMITS, ERROR_CODES, operationOf, OPERATIONS } from './documented.ts';
import { STATUSES_ELSEWHERE } from './proved-elsewhere.ts';
import type { Table } from './row.ts';

/** What the pages promise, and no row of these tables: `operation status`, codes, and limits. */
export interface Unproved {
  answers: string[];
  codes: string[];
  limits: string[];
}

export function unprovedBy(tables: readonly Table[]): Unproved {
  const rows = tables.flatMap((table) => table.rows);
  const answers = new Set(
    rows.map(({ sends: [method, target], answers: status }) => `${operationOf(method, target)?.id ?? ''} ${status}`),
  );
  const codes = new Set(rows.map(({ code }) => code));
  const limits = new Set(rows.map(({ limit }) => limit));
  return {
    answers: OPERATIONS.flatMap(({ id, statuses }) =>
      statuses.filter((status) => STATUSES_ELSEWHERE[status] === undefined).map((status) => `${id} ${status}`),
    ).filter((answer) => !answers.has(answer)),
    codes: ERROR_CODES.filter((code) => !codes.has(code)),
    limits: [...ANSWERED_LIMITS].filter((limit) => !limits.has(limit)),
  };
}
