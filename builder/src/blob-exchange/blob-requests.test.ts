import { createHash } from 'node:crypto';
import { sha256 } from '@wherry/core/trees/tree.ts';
import type { BlobRequest } from './blob-protocol.ts';
import { BlobRequests } from './blob-requests.ts';

const integrityOf = (text: string): string => `sha512-${createHash('sha512').update(text).digest('base64')}`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('BlobRequests', () => {
  let sent: string[];
  let requests: BlobRequests;
  beforeEach(() => {
    sent = [];
    requests = new BlobRequests(({ hash }: BlobRequest) => sent.push(hash));
  });

  it.each([
    ['a file or a lock by its digest', sha256('text')],
    ['a tarball by its integrity', integrityOf('text')],
  ])('gets %s', async (_what, hash) => {
    requests.allow([hash]);
    const blob = requests.request(hash);
    requests.answer({ type: 'blob', hash, base64: base64('text') });
    expect((await blob).toString()).toBe('text');
    expect(sent).toEqual([hash]);
  });

  it('B1: sends no request for a blob that the build does not name, until it does', async () => {
    const hash = sha256('text');
    requests.allow([sha256('other')]);
    await expect(requests.request(hash)).rejects.toMatchObject({ code: 'forbidden' });
    expect(sent).toEqual([]);
    requests.allow([hash]);
    const blob = requests.request(hash);
    requests.answer({ type: 'blob', hash, base64: base64('text') });
    expect((await blob).toString()).toBe('text');
  });

  it('shares one answer among requests for the same blob, and sends another once it has come', async () => {
    const hash = sha256('text');
    requests.allow([hash]);
    const both = Promise.all([requests.request(hash), requests.request(hash)]);
    expect(sent).toEqual([hash]);
    requests.answer({ type: 'blob', hash, base64: base64('text') });
    expect((await both).map(String)).toEqual(['text', 'text']);
    requests.request(hash).catch(() => undefined);
    expect(sent).toEqual([hash, hash]);
  });

  it('sends a few at a time, in order, and the next with each answer', async () => {
    const texts = Array.from({ length: 9 }, (_, n) => `text ${n}`);
    const hashes = texts.map((text) => sha256(text));
    requests.allow(hashes);
    const all = Promise.all(hashes.map((hash) => requests.request(hash)));
    expect(sent).toEqual(hashes.slice(0, 4));
    for (let n = 0; n < texts.length; n += 1) {
      requests.answer({ type: 'blob', hash: hashes[n]!, base64: base64(texts[n]!) });
      expect(sent).toEqual(hashes.slice(0, n + 5));
    }
    expect((await all).map(String)).toEqual(texts);
  });

  it('ignores what it did not request, and what it has not requested yet', async () => {
    const texts = Array.from({ length: 5 }, (_, n) => `text ${n}`);
    const hashes = texts.map((text) => sha256(text));
    requests.allow(hashes);
    const all = Promise.all(hashes.map((hash) => requests.request(hash)));
    requests.answer({ type: 'noBlob', hash: sha256('other') });
    requests.answer({ type: 'noBlob', hash: hashes[4]! });
    texts.forEach((text, n) => requests.answer({ type: 'blob', hash: hashes[n]!, base64: base64(text) }));
    expect((await all).map(String)).toEqual(texts);
  });

  it.each([
    ['there is none', { type: 'noBlob' as const }, 'not_found'],
    ['a file comes with other bytes', { type: 'blob' as const, base64: base64('other') }, 'unavailable'],
  ])('rejects when %s', async (_what, answer, code) => {
    for (const hash of [sha256('text'), integrityOf('text')]) {
      requests.allow([hash]);
      const blob = requests.request(hash);
      requests.answer({ ...answer, hash });
      await expect(blob).rejects.toMatchObject({ code });
    }
  });

  it('rejects all when the connection has closed, and sends nothing any more', async () => {
    const hashes = Array.from({ length: 5 }, (_, n) => sha256(`text ${n}`));
    requests.allow(hashes);
    const all = Promise.allSettled(hashes.map((hash) => requests.request(hash)));
    requests.end();
    requests.answer({ type: 'noBlob', hash: hashes[0]! });
    const unavailable = { status: 'rejected', reason: expect.objectContaining({ code: 'unavailable' }) };
    expect(await all).toEqual(hashes.map(() => unavailable));
    await expect(requests.request(hashes[0]!)).rejects.toMatchObject({ code: 'unavailable' });
    expect(sent).toEqual(hashes.slice(0, 4));
  });
});
