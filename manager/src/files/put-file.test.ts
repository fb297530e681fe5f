import { DomainError } from '@wherry/core/errors.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { putFile } from './put-file.ts';

describe('M10: a file of an upload', () => {
  it('that ends because the whole is too large is refused for the whole, not for itself', async () => {
    const whole = new DomainError('too_large', 'The upload is over its limits.');
    const bytes = (failure?: Error): AsyncIterable<Uint8Array> =>
      (async function* () {
        yield Buffer.alloc(10);
        if (failure !== undefined) throw failure;
      })();
    const content = new FakeContentStore({ clock: new FakeClock() });
    await expect(putFile(content, bytes(whole), 100)).rejects.toBe(whole);
    await expect(putFile(content, bytes(), 5)).rejects.toThrow('files.max-size-bytes');
  });
});
