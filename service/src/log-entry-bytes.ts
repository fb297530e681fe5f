import type { LogEntry } from '@wherry/core/ports/telemetry.ts';

/** The bytes of an entry's JSON besides its texts: names, punctuation, the request id, numbers of any length. */
const FRAME_BYTES = 256;
/** Printable ASCII that JSON writes as it is: a byte a character. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Bytes that a log entry takes at most in a message, which is JSON in UTF-8: an escape takes up to six for one
 * character. The texts are counted exactly. It is cheaper than serializing the whole entry, because it is computed for
 * each one.
 */
export function logEntryBytes({ functionName, message, args }: LogEntry): number {
  return FRAME_BYTES + functionName.length + textBytes(message) + (args === null ? 0 : textBytes(args));
}

function textBytes(text: string): number {
  return PLAIN.test(text) ? text.length : Buffer.byteLength(JSON.stringify(text));
}
