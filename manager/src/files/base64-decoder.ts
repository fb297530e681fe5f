import { invalid } from '@wherry/core/errors.ts';

const GROUPS = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Decodes base64 in pieces. Node's decoder skips what is not base64: a truncated or mistyped upload must not be stored
 * as something else.
 */
export class Base64Decoder {
  /** Fewer than four characters: the beginning of a group. */
  #rest = '';
  #isPadded = false;

  /** @throws DomainError `validation_failed` for what is not base64, line breaks aside. */
  push(text: string): Buffer {
    const bare = this.#rest + text.replace(/[\r\n]+/g, '');
    const whole = bare.length - (bare.length % 4);
    this.#rest = bare.slice(whole);
    const groups = bare.slice(0, whole);
    if (groups === '') return Buffer.alloc(0);
    if (this.#isPadded || !GROUPS.test(groups)) throw notBase64();
    this.#isPadded = groups.endsWith('=');
    return Buffer.from(groups, 'base64');
  }

  /** @throws DomainError `validation_failed` where the last group is cut. */
  end(): void {
    if (this.#rest !== '') throw notBase64();
  }
}

function notBase64(): Error {
  return invalid('content: is not base64.', [{ path: 'content', message: 'is not base64' }]);
}
