import { contentStoreContract } from '../contracts/content-store-contract.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeContentStore } from './fake-content-store.ts';

describe('FakeContentStore', () => {
  contentStoreContract(async () => {
    const clock = new FakeClock();
    const store = new FakeContentStore({ clock });
    return { store, clock, corrupt: async (digest) => store.corrupt(digest), stop: async () => undefined };
  });

  it('fails puts while a test wants it to', async () => {
    const store = new FakeContentStore({ clock: new FakeClock() });
    store.failPuts(new Error('no room'));
    await expect(store.put(Buffer.from('a'))).rejects.toThrow('no room');
    store.failPuts(undefined);
    expect(await store.put(Buffer.from('a'))).toMatchObject({ size: 1 });
  });
});
