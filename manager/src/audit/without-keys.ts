import { nameSchema } from '@wherry/core/resources/meta.ts';
import type { AuditObject } from './audit-record.ts';

/** Whether a text is a key's value. */
export type KnowsKey = (text: string) => boolean;

/** Characters of a name that a caller chose. */
const MAX_TEXT = 256;
/** A value of a key that begins in the part that is kept ends in this many characters. */
const MAX_SEARCHED = 2 * MAX_TEXT;
/** What may be a key's value, in a longer text too. */
const WORDS = /[a-zA-Z0-9_-]{16,}/g;
const MASK = '(the value of a key)';

/**
 * The object as a record may hold it (M9): who writes a key's value where an id or a name belongs must not leave it there
 * for as long as records are kept. An id that no object can have is null.
 */
export function withoutKeys({ kind, id, name }: AuditObject, isKey: KnowsKey): AuditObject {
  const isId = id !== null && nameSchema.safeParse(id).success && !isKey(id);
  return {
    kind,
    id: isId ? id : null,
    name:
      name === null ? null : bounded(name.slice(0, MAX_SEARCHED).replace(WORDS, (word) => (isKey(word) ? MASK : word))),
  };
}

function bounded(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
}
