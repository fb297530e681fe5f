import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import type { FakeClock } from '../fakes/fake-clock.ts';

/** A store to test, and what its test must do without its knowledge. */
export interface ContentStoreHarness {
  store: ContentStore;
  /** The store's own clock. */
  clock: FakeClock;
  /** Changes the bytes of a stored blob, as a bad disk does. */
  corrupt(digest: Digest): Promise<void>;
  stop(): Promise<void>;
}

const HOUR_MS = 3_600_000;
const NONE: ReadonlySet<Digest> = new Set();

/** What every ContentStore must do. */
export function contentStoreContract(make: () => Promise<ContentStoreHarness>): void {
  let harness: ContentStoreHarness;
  let store: ContentStore;
  beforeEach(async () => {
    harness = await make();
    store = harness.store;
  });
  afterEach(() => harness.stop());

  describe('put and get', () => {
    it.each([
      ['nothing', Buffer.alloc(0)],
      ['a text', Buffer.from('export default 1;\n')],
      ['3 MiB', Buffer.alloc(3 * 1024 * 1024, 'wherry')],
    ])('gives back %s as it was put', async (_title, bytes) => {
      expect(await store.put(bytes)).toEqual({ digest: sha256(bytes), size: bytes.length });
      expect(await store.has(sha256(bytes))).toBe(true);
      expect((await store.get(sha256(bytes))).equals(bytes)).toBe(true);
      expect((await readAll(await store.open(sha256(bytes)))).equals(bytes)).toBe(true);
    });

    it('takes a stream, whose chunks the producer may use again', async () => {
      const { digest, size } = await store.put(reused('ab', 'cd', '', 'e'));
      expect({ digest, size }).toEqual({ digest: sha256('abcde'), size: 5 });
      expect((await store.get(digest)).toString()).toBe('abcde');
    });

    it("gives away buffers that are the caller's own", async () => {
      const { digest } = await store.put(Buffer.from('mine'));
      (await store.get(digest)).fill(0);
      expect((await store.get(digest)).toString()).toBe('mine');
    });

    it('takes the same blob many times, at once too', async () => {
      const results = await Promise.all(Array.from({ length: 20 }, () => store.put(reused('sa', 'me'))));
      expect(new Set(results.map(({ digest }) => digest))).toEqual(new Set([sha256('same')]));
      expect((await store.get(sha256('same'))).toString()).toBe('same');
    });

    it('does not know what was never put', async () => {
      const unknown = sha256('never put');
      expect(await store.has(unknown)).toBe(false);
      await expect(store.get(unknown)).rejects.toMatchObject({ code: 'not_found' });
      await expect(store.open(unknown)).rejects.toMatchObject({ code: 'not_found' });
    });
  });

  describe('what does not arrive whole', () => {
    it('takes exactly the limit', async () => {
      expect(await store.put(Buffer.from('12345'), 5)).toMatchObject({ size: 5 });
      expect(await store.put(reused('123', '4'), 4)).toMatchObject({ size: 4 });
    });

    it('refuses one byte more, also of bytes at hand', async () => {
      await expect(store.put(Buffer.from('123456'), 5)).rejects.toMatchObject({ code: 'too_large' });
      expect(await store.has(sha256('123456'))).toBe(false);
    });

    it('stops reading a stream at the limit, and lets go of it', async () => {
      const seen = { chunks: 0, released: false };
      await expect(store.put(endless(seen), 10_000)).rejects.toMatchObject({ code: 'too_large' });
      expect(seen).toEqual({ chunks: 11, released: true });
    });

    it('keeps nothing of a stream that fails, and hands its error on', async () => {
      await expect(store.put(failing('half'))).rejects.toThrow('the caller disconnected');
      expect(await store.has(sha256('half'))).toBe(false);
    });
  });

  it('B4: never gives away bytes that do not match the digest as if they were good', async () => {
    const { digest } = await store.put(Buffer.from('good bytes'));
    await harness.corrupt(digest);
    await expect(store.get(digest)).rejects.toMatchObject({ code: 'internal_error' });
    await expect(store.open(digest).then(readAll)).rejects.toMatchObject({ code: 'internal_error' });
  });

  it('is healed by another put of the same bytes', async () => {
    const { digest } = await store.put(Buffer.from('good bytes'));
    await harness.corrupt(digest);
    await store.put(Buffer.from('good bytes'));
    expect((await store.get(digest)).toString()).toBe('good bytes');
  });

  describe('collect', () => {
    it('removes what nothing refers to, once the grace period is over', async () => {
      const [kept, gone] = [await store.put(Buffer.from('kept')), await store.put(Buffer.from('gone'))];
      expect(await store.collect(new Set([kept.digest]), HOUR_MS)).toBe(0);
      await harness.clock.advance(HOUR_MS + 1000);
      const fresh = await store.put(Buffer.from('fresh'));
      expect(await store.collect(new Set([kept.digest]), HOUR_MS)).toBe(1);
      expect(await store.has(gone.digest)).toBe(false);
      expect([await store.has(kept.digest), await store.has(fresh.digest)]).toEqual([true, true]);
      expect(await store.collect(new Set([kept.digest]), HOUR_MS)).toBe(0);
    });

    it('spares a blob that was put again', async () => {
      const { digest } = await store.put(Buffer.from('again'));
      await harness.clock.advance(HOUR_MS + 1000);
      await store.put(Buffer.from('again'));
      expect(await store.collect(NONE, HOUR_MS)).toBe(0);
      expect((await store.get(digest)).toString()).toBe('again');
    });

    it('never takes away a blob whose put was answered meanwhile', async () => {
      const blobs = Array.from({ length: 30 }, (_, index) => Buffer.from(`blob ${index}`));
      for (const bytes of blobs) await store.put(bytes);
      await harness.clock.advance(HOUR_MS + 1000);
      await Promise.all([
        store.collect(NONE, HOUR_MS),
        ...blobs.map((bytes) => store.put(bytes)),
        store.collect(NONE, HOUR_MS),
      ]);
      for (const bytes of blobs) expect((await store.get(sha256(bytes))).equals(bytes)).toBe(true);
    });
  });
}

async function readAll(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** Yields each text in the same buffer. */
async function* reused(...texts: string[]): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.alloc(64);
  for (const text of texts) yield buffer.subarray(0, buffer.write(text));
}

async function* endless(seen: { chunks: number; released: boolean }): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      seen.chunks += 1;
      yield Buffer.alloc(1000);
    }
  } finally {
    seen.released = true;
  }
}

async function* failing(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
  throw new Error('the caller disconnected');
}
