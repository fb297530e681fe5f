import { invalid } from '@wherry/core/errors.ts';
import { parseJson } from '../http/json-body.ts';

/** Longer than the key `content` can be, each of its letters written as an escape. */
const KEY_LENGTH = 64;
/** Characters that represent themselves in a JSON string. */
const PLAIN = /^[ !#-[\]-\uffff]*$/;
const STEPS: Partial<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 };
const [QUOTE, BACKSLASH] = Buffer.from('"\\');

/**
 * Extracts the string `content` from a JSON object that arrives in pieces, so that the whole object is never in memory.
 * What is around that string is the envelope: the same object with an empty `content`, small, and parsed by the common
 * rules.
 */
export class ContentScanner {
  readonly #envelope: string[] = [];
  #envelopeLength = 0;
  #part: 'envelope' | 'content' = 'envelope';
  #wasFound = false;
  #depth = 0;
  /** The string of the envelope that is being read, as written; one that is too long for a key is truncated. */
  #string = '';
  #isInString = false;
  #isEscaped = false;
  /** Whether the next string is the value of `content`. */
  #isContentNext = false;
  /** The beginning of an escape, or of a pair of surrogates, whose end comes with the next piece. */
  #unread = '';
  #highSurrogate = '';

  /** Characters of the envelope so far: the caller bounds them. */
  get envelopeLength(): number {
    return this.#envelopeLength;
  }

  /**
   * @param text the next piece of the body.
   * @returns what it holds of the content, decoded.
   * @throws DomainError `validation_failed` for a string that is not JSON, or a second `content`.
   */
  push(text: string): string {
    if (this.#part === 'content') return this.#readContent(text);
    const begin = this.#readEnvelope(text);
    return begin === undefined ? '' : this.#readContent(text.slice(begin));
  }

  /**
   * Ends the body.
   * @returns the parsed envelope.
   * @throws DomainError `validation_failed` for JSON that is malformed, too deep or poisonous.
   */
  end(): unknown {
    return parseJson(Buffer.from(this.#envelope.join('')));
  }

  /** The half of a character with which the content ends: it is not valid Unicode if the body ends here. */
  get isCut(): boolean {
    return this.#highSurrogate !== '';
  }

  /** @returns where the content begins. */
  #readEnvelope(text: string): number | undefined {
    for (let at = 0; at < text.length; at += 1) {
      if (!this.#step(text[at] ?? '')) continue;
      if (this.#wasFound) throw invalid('content: appears twice.', [{ path: 'content', message: 'appears twice' }]);
      this.#wasFound = true;
      this.#keep(`${text.slice(0, at)}"`);
      this.#part = 'content';
      return at + 1;
    }
    this.#keep(text);
    return undefined;
  }

  #keep(text: string): void {
    this.#envelope.push(text);
    this.#envelopeLength += text.length;
  }

  /** @returns whether this character begins the content. */
  #step(char: string): boolean {
    if (this.#isInString) {
      this.#readString(char);
      return false;
    }
    if (char === '"') {
      if (this.#isContentNext) return true;
      this.#isInString = true;
      this.#string = '';
    } else if (char === ':') {
      this.#isContentNext = this.#depth === 1 && keyOf(this.#string) === 'content';
    } else if (!/\s/.test(char)) {
      this.#isContentNext = false;
      this.#depth += STEPS[char] ?? 0;
    }
    return false;
  }

  #readString(char: string): void {
    if (!this.#isEscaped && char === '"') {
      this.#isInString = false;
      return;
    }
    this.#isEscaped = !this.#isEscaped && char === '\\';
    if (this.#string.length < KEY_LENGTH) this.#string += char;
  }

  #readContent(piece: string): string {
    const text = this.#unread + piece;
    const { end, isClosed } = endOfString(text);
    const decoded = this.#highSurrogate + decode(text.slice(0, end));
    this.#highSurrogate = '';
    if (!isClosed) {
      this.#unread = text.slice(end);
      return this.#wholeCharacters(decoded);
    }
    this.#unread = '';
    this.#isContentNext = false;
    this.#part = 'envelope';
    this.#keep('"');
    return decoded + this.push(text.slice(end + 1));
  }

  /** Without a half of a pair of surrogates at its end, which waits for the other half. */
  #wholeCharacters(decoded: string): string {
    const last = decoded.charCodeAt(decoded.length - 1);
    if (!(last >= 0xd800 && last < 0xdc00)) return decoded;
    this.#highSurrogate = decoded.slice(-1);
    return decoded.slice(0, -1);
  }
}

/** Where a string ends, or, where it does not, its last whole escape. */
function endOfString(text: string): { end: number; isClosed: boolean } {
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return { end: at, isClosed: true };
    const length = code === BACKSLASH ? escapeLength(text[at + 1]) : 1;
    if (at + length > text.length) break;
    at += length;
  }
  return { end: at, isClosed: false };
}

/** @param next what follows the backslash. */
function escapeLength(next: string | undefined): number {
  return next === 'u' ? 6 : 2;
}

function decode(written: string): string {
  // Most pieces have no escape: then no copy is made.
  if (PLAIN.test(written)) return written;
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    throw invalid('The body is not well-formed JSON in UTF-8.');
  }
}

function keyOf(written: string): string | undefined {
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    // Truncated, or not JSON: the parser of the envelope reports it.
    return undefined;
  }
}
