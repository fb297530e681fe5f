import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { channelPair } from '@wherry/testing/fakes/fake-feed-channel.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { blobsOf, type BlobAnswer } from './blob-protocol.ts';
import { BlobResponder } from './blob-responder.ts';

const MIB = 1024 * 1024;
const bytes = Buffer.from('text');
const hash = sha256(bytes);
const blob = { type: 'blob', hash, base64: bytes.toString('base64') };

describe('BlobResponder', () => {
  let ended: AbortController;
  let ours: FeedChannel;
  let theirs: AsyncIterator<unknown>;
  let responder: BlobResponder;
  beforeEach(() => {
    ended = new AbortController();
    const [left, right] = channelPair();
    ours = left;
    theirs = right.messages()[Symbol.asyncIterator]();
    responder = new BlobResponder(ours, ended.signal);
  });
  afterEach(() => ours.close());

  it('B1: gives the blobs of its build, and no other', async () => {
    responder.allow(hash, async () => bytes);
    expect(responder.mayRequest(hash)).toBe(true);
    expect(responder.mayRequest(sha256('of another build'))).toBe(false);
    await responder.answer(hash);
    expect((await theirs.next()).value).toEqual(blob);
  });

  it('says that there is none where a build can do without, and otherwise throws what reading it throws', async () => {
    const content = new FakeContentStore({ clock: new FakeClock() });
    responder.allow(hash, () => content.get(hash));
    await expect(responder.answer(hash)).rejects.toMatchObject({ code: 'not_found' });
    responder.allow(hash, async () => undefined);
    await responder.answer(hash);
    expect((await theirs.next()).value).toEqual({ type: 'noBlob', hash });
  });

  it('B1: takes 64 requests at once, of which it reads eight', async () => {
    const reads: (() => void)[] = [];
    responder.allow(hash, () => new Promise((resolve) => reads.push(() => resolve(bytes))));
    const answers: Promise<void>[] = [];
    while (responder.mayRequest(hash)) answers.push(responder.answer(hash));
    expect(answers).toHaveLength(64);
    for (let answered = 0; answered < 64; answered += 1) {
      while (reads.length === 0) await new Promise(setImmediate);
      expect(reads.length).toBeLessThanOrEqual(8);
      reads.shift()?.();
      expect((await theirs.next()).value).toEqual(blob);
    }
    await Promise.all(answers);
    expect(responder.mayRequest(hash)).toBe(true);
  });

  it('B1: gives no blob that does not fit into a line', async () => {
    responder.allow(hash, async () => Buffer.alloc(256 * MIB + 1));
    await expect(responder.answer(hash)).rejects.toMatchObject({ code: 'too_large' });
  });

  it('B1: sends on once the other end has taken what it was sent, and reads a few ahead', async () => {
    const drains: (() => void)[] = [];
    let reads = 0;
    let sends = 0;
    let waiting = 0;
    const slow: FeedChannel = {
      ...ours,
      send(answer) {
        sends += 1;
        waiting += (answer as Extract<BlobAnswer, { type: 'blob' }>).base64.length;
      },
      queuedBytes: () => waiting,
      drained: () => new Promise((resolve) => drains.push(resolve)),
    };
    responder = new BlobResponder(slow, ended.signal);
    responder.allow(hash, async () => {
      reads += 1;
      return Buffer.alloc(16 * MIB);
    });
    const answers = Array.from({ length: 12 }, () => responder.answer(hash));
    for (let sent = 1; sent <= 12; sent += 1) {
      while (drains.length < sent) await new Promise(setImmediate);
      expect(sends).toBe(sent);
      expect(reads).toBe(Math.min(12, sent + 7));
      waiting = 0;
      drains[sent - 1]?.();
    }
    await Promise.all(answers);
  });

  it('reads and sends nothing once the build has ended', async () => {
    const read = Promise.withResolvers<Buffer>();
    responder.allow(hash, () => read.promise);
    const under = Array.from({ length: 9 }, () => responder.answer(hash));
    ended.abort();
    read.resolve(bytes);
    await Promise.all(under);
    responder.allow(hash, () => Promise.reject(new Error('it is not read')));
    await responder.answer(hash);
    ours.close();
    expect((await theirs.next()).done).toBe(true);
  });
});

describe('blobsOf', () => {
  it('names the files of the trees, and the locks, which a build can do without', () => {
    const file = (path: string, text: string) => ({ path, digest: sha256(text), size: text.length, mtime: 0 });
    const blobs = blobsOf({
      source: 'api',
      path: 'h.ts',
      trees: new Map([
        ['api', { files: [file('h.ts', 'handler'), file('same.ts', 'handler')] }],
        ['shared', { files: [file('package-lock.json', 'the lock')] }],
      ]),
      locks: new Map([['api', [{ asks: sha256('asks'), lock: sha256('a lock') }]]]),
    });
    expect(Object.fromEntries(blobs)).toEqual({
      [sha256('handler')]: { optional: false },
      [sha256('the lock')]: { optional: false },
      [sha256('a lock')]: { optional: true },
    });
  });
});
