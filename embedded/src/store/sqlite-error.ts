import { DomainError } from '@wherry/core/errors.ts';

/** Primary result codes of SQLite that a person can do something about. */
const REASONS: Record<number, string> = {
  5: 'the database is in use by another program',
  6: 'the database is in use by another program',
  8: 'the database cannot be written to',
  10: 'the disk failed to read or write',
  11: 'the database is damaged',
  13: 'the disk is full',
  14: 'a file of the database cannot be opened',
  26: 'the database is damaged',
};

/** SQLite's failure as the port's `unavailable`, without SQLite's own text, which is its `cause`; others unchanged. */
export function translateSqliteError(error: unknown): unknown {
  if (!isSqliteError(error)) return error;
  const reason = REASONS[(error.errcode ?? 0) & 0xff] ?? 'the database does not answer';
  const translated = new DomainError('unavailable', `The store is not available: ${reason}`);
  translated.cause = error;
  return translated;
}

/** A closed database throws ERR_INVALID_STATE. */
function isSqliteError(error: unknown): error is Error & { code: string; errcode?: number } {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'ERR_SQLITE_ERROR' || error.code === 'ERR_INVALID_STATE';
}
