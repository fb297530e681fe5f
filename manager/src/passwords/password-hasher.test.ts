import { argon2Sync, type Argon2Parameters } from 'node:crypto';
import { PASSWORD_COST, PasswordHasher, type Derive } from './password-hasher.ts';

const CHEAP = { memoryKib: 8, passes: 1 };

/** Counts how many derivations run at once, each of which ends when the test lets it. */
function heldDerive() {
  const held: (() => void)[] = [];
  const derive: Derive = async (parameters) => {
    await new Promise<void>((resolve) => held.push(resolve));
    return argon2Sync('argon2id', parameters);
  };
  return { held, derive };
}

describe('the hasher of passwords', () => {
  const hasher = new PasswordHasher(CHEAP);

  it('makes PHC strings with a salt of their own, which verify that password alone', async () => {
    const [one, two] = [await hasher.hash('correct horse'), await hasher.hash('correct horse')];
    expect(one).toMatch(/^\$argon2id\$v=19\$m=8,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.toBe(two);
    for (const hash of [one, two]) {
      expect(await hasher.verify('correct horse', hash)).toBe(true);
      expect(await hasher.verify('correct horsf', hash)).toBe(false);
      expect(await hasher.verify('', hash)).toBe(false);
    }
  });

  it('agrees with the reference implementation of argon2', async () => {
    // printf password | argon2 somesalt -id -v 13 -m 16 -t 2 -p 1 -l 32 -e, of its test vectors.
    const hash = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    expect(await hasher.verify('password', hash)).toBe(true);
  });

  it('verifies what was hashed at another cost, and passwords in whichever form of Unicode', async () => {
    const hash = await new PasswordHasher({ memoryKib: 16, passes: 2 }).hash('caf\u00e9 cr\u00e8me');
    expect(await hasher.verify('cafe\u0301 cre\u0300me', hash)).toBe(true);
  });

  it('costs at least what OWASP recommends', () => {
    expect(PASSWORD_COST.memoryKib).toBeGreaterThanOrEqual(19_456);
    expect(PASSWORD_COST.passes).toBeGreaterThanOrEqual(2);
  });

  it('M2: does the same work for nobody as for a user, and nobody has a password', async () => {
    const seen: Argon2Parameters[] = [];
    const derive: Derive = async (parameters) => {
      seen.push(parameters);
      return argon2Sync('argon2id', parameters);
    };
    const counted = new PasswordHasher(CHEAP, derive);
    const hash = await counted.hash('the password');
    seen.length = 0;
    await counted.verify('the password', hash);
    await counted.verify('a wrong one', hash);
    expect(await counted.verify('the password', null)).toBe(false);
    const work = seen.map(({ memory, passes, parallelism, tagLength, nonce }) => ({
      memory,
      passes,
      parallelism,
      tagLength,
      salt: Buffer.from(nonce as Uint8Array).length,
    }));
    expect(work).toEqual(Array(3).fill({ memory: 8, passes: 1, parallelism: 1, tagLength: 32, salt: 16 }));
  });

  it('M2: hashes two at a time, in the order of the calls', async () => {
    const { held, derive } = heldDerive();
    const bounded = new PasswordHasher(CHEAP, derive);
    const hashes = Array.from({ length: 5 }, (_, at) => bounded.hash(`password ${at}`));
    for (let done = 0; done < 5; done += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(held.length).toBe(Math.min(5, done + 2));
      held[done]?.();
      await hashes[done];
    }
  });

  it('M2: does its work on another thread than the event loop', async () => {
    const [all, own] = [process.cpuUsage(), process.threadCpuUsage()];
    await new PasswordHasher({ memoryKib: 65_536, passes: 2 }).hash('password');
    const spent = process.cpuUsage(all);
    const onLoop = process.threadCpuUsage(own);
    expect(onLoop.user + onLoop.system).toBeLessThan((spent.user + spent.system) / 2);
  });
});
