import { nameSchema } from '@wherry/core/resources/meta.ts';
import type { AuditObject } from './audit-record.ts';

/** Whether a text is a key's value. */
export type KnowsKey = (text: string) => boolean;

/** Characters of a name that a caller chose. */
const MAX_TEXT = 256;
/** A key value that begins in the part that is kept ends within this many characters. */
const MAX_SEARCHED = 2 * MAX_TEXT;
/** What may be a key's value, in a longer text too. */
const WORDS = /[a-zA-Z0-9_-]{16,}/g;
/** Characters of the shortest key. */
const LEAST_KEY = 16;
const MASK = '(the value of a key)';

/**
 * The object as a record may contain it (M9): a key value that a caller puts in place of an id or a name must not stay
 * there for as long as records are kept. An id that no object can have is null.
 * @param shownKey the key that the caller presents, which is masked inside longer words too
 */
export function withoutKeys({ kind, id, name }: AuditObject, isKey: KnowsKey, shownKey = ''): AuditObject {
  const holdsShown = (text: string): boolean => shownKey.length >= LEAST_KEY && text.includes(shownKey);
  const isId = id !== null && nameSchema.safeParse(id).success && !isKey(id) && !holdsShown(id);
  const mask = (word: string): string => {
    if (isKey(word)) return MASK;
    return holdsShown(word) ? word.replaceAll(shownKey, MASK) : word;
  };
  return {
    kind,
    id: isId ? id : null,
    name: name === null ? null : bounded(name.slice(0, MAX_SEARCHED).replace(WORDS, mask)),
  };
}

function bounded(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
}
