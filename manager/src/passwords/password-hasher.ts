import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { promisify } from 'node:util';
import { createSemaphore } from '@wherry/service/semaphore.ts';

/** What one hash costs: KiB of memory, and passes over them. */
export interface PasswordCost {
  memoryKib: number;
  passes: number;
}

/** What OWASP recommends at least for argon2id with one lane. */
export const PASSWORD_COST: PasswordCost = { memoryKib: 19_456, passes: 2 };
/** Hashing runs on threads of libuv's pool, of which there are four: files and names must not wait for passwords. */
const AT_ONCE = 2;
const TAG_BYTES = 32;
const SALT_BYTES = 16;
const PHC = /^\$argon2id\$v=19\$m=(\d{1,8}),t=(\d{1,4}),p=1\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** What argon2id is given, and what it gives. */
export type Derive = (parameters: Argon2Parameters) => Promise<Buffer>;

const argon2Async = promisify(argon2);
const argon2id: Derive = (parameters) => argon2Async('argon2id', parameters);
const never = new AbortController().signal;

/** Hashes passwords with argon2id, as PHC strings; off the event loop, two at a time (M2). */
export class PasswordHasher {
  readonly #cost: PasswordCost;
  readonly #argon2id: Derive;
  readonly #slots = createSemaphore(AT_ONCE);
  /** Of a password that nobody has: verifying it takes as long as any. */
  readonly #nobody: string;

  constructor(cost: PasswordCost = PASSWORD_COST, derive: Derive = argon2id) {
    this.#cost = cost;
    this.#argon2id = derive;
    this.#nobody = phc(cost, randomBytes(SALT_BYTES), randomBytes(TAG_BYTES));
  }

  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    return phc(this.#cost, salt, await this.#derive(password, this.#cost, salt));
  }

  /** Compares in constant time; without a hash it takes as long as with one, and is false (M2). */
  async verify(password: string, hash: string | null): Promise<boolean> {
    const [, memory, passes, salt = '', tag = ''] = PHC.exec(hash ?? this.#nobody) ?? [];
    if (memory === undefined) throw new Error('a stored password hash is not one of argon2id');
    const expected = Buffer.from(tag, 'base64');
    const cost = { memoryKib: Number(memory), passes: Number(passes) };
    const derived = await this.#derive(password, cost, Buffer.from(salt, 'base64'));
    return timingSafeEqual(derived, expected) && hash !== null;
  }

  async #derive(password: string, { memoryKib, passes }: PasswordCost, nonce: Uint8Array): Promise<Buffer> {
    const release = await this.#slots.acquire(never);
    try {
      const message = Buffer.from(password.normalize('NFC'));
      return await this.#argon2id({
        message,
        nonce,
        parallelism: 1,
        tagLength: TAG_BYTES,
        memory: memoryKib,
        passes,
      });
    } finally {
      release();
    }
  }
}

function phc({ memoryKib, passes }: PasswordCost, salt: Buffer, tag: Buffer): string {
  const text = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=1$${text(salt)}$${text(tag)}`;
}
