import type { LogEntry } from '@wherry/core/ports/telemetry.ts';

/** What an entry's JSON has beside its texts: names, punctuation, the id of its request, numbers of any length. */
const FRAME_BYTES = 256;
/** Printable ASCII that JSON writes as it is: a byte a character. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Bytes that a log entry takes at most in a message, which is JSON in UTF-8: an escape takes up to six for one
 * character. The texts are counted exactly. Cheaper than to write the whole entry, for it is computed for each.
 */
export function logEntryBytes({ functionName, message, args }: LogEntry): number {
  return FRAME_BYTES + functionName.length + textBytes(message) + (args === null ? 0 : textBytes(args));
}

function textBytes(text: string): number {
  return PLAIN.test(text) ? text.length : Buffer.byteLength(JSON.stringify(text));
}
