import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { eventually } from '@wherry/testing/eventually.ts';
import { packTree } from './pack-tree.ts';

const MIB = 1024 * 1024;
/** 32 files of 1 MiB that no compression makes smaller. */
const FILES = Array.from({ length: 32 }, (_, n) => ({ path: `${n}.bin`, digest: String(n), size: MIB, mtime: 0 }));

/** Files of random bytes, and how many chunks of 64 KiB of them were read. */
class RandomContent {
  read = 0;
  closed = 0;

  async open(): Promise<AsyncIterable<Uint8Array>> {
    return this.#chunks();
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (let n = 0; n < 16; n += 1) {
        this.read += 1;
        yield randomBytes(64 * 1024);
      }
    } finally {
      this.closed += 1;
    }
  }
}

describe('the tar of a tree', () => {
  it('M10: is read from the store no faster than it is sent, and to its end', async () => {
    const content = new RandomContent();
    const packed = packTree(FILES, content);
    await once(packed, 'readable');
    let before = -1;
    await eventually(() => {
      const now = content.read;
      const stands = now === before;
      before = now;
      expect(stands).toBe(true);
    });
    // Of 512 chunks.
    expect(content.read).toBeLessThan(32);
    expect(gunzipSync(await buffer(packed)).length).toBeGreaterThan(32 * MIB);
    expect([content.read, content.closed]).toEqual([512, 32]);
  });

  it('of a reader who leaves is read no further', async () => {
    const content = new RandomContent();
    const packed = packTree(FILES, content);
    await once(packed, 'readable');
    packed.destroy();
    await eventually(() => expect(content.closed).toBe(1));
    expect(content.read).toBeLessThan(32);
  });

  it('fails as the store does', async () => {
    const open = async (): Promise<AsyncIterable<Uint8Array>> => {
      throw new Error('damaged');
    };
    await expect(buffer(packTree(FILES, { open }))).rejects.toThrow('damaged');
  });
});
