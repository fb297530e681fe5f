import { channelPair } from './fake-feed-channel.ts';

async function all(messages: AsyncIterable<unknown>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const message of messages) seen.push(message);
  return seen;
}

describe('channelPair', () => {
  it('carries messages both ways, in order, as JSON does', async () => {
    const [left, right] = channelPair();
    const sent = { type: 'snapshot', list: [1], gone: undefined, at: new Date(0) };
    left.send(sent);
    sent.list.push(2);
    left.send({ type: 'second' });
    right.send({ type: 'answer' });
    const [toRight, toLeft] = [all(right.messages()), all(left.messages())];
    left.close();
    expect(await toRight).toEqual([
      { type: 'snapshot', list: [1], at: '1970-01-01T00:00:00.000Z' },
      { type: 'second' },
    ]);
    expect(await toLeft).toEqual([{ type: 'answer' }]);
  });

  it('wakes a reader that waits', async () => {
    const [left, right] = channelPair();
    const read = all(right.messages());
    left.send({ n: 1 });
    await Promise.resolve();
    left.send({ n: 2 });
    await Promise.resolve();
    left.close();
    expect(await read).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it.each(['left', 'right'])('is closed for both when the %s end closes; then sending does nothing', async (side) => {
    const [left, right] = channelPair();
    (side === 'left' ? left : right).close();
    await Promise.all([left.closed, right.closed]);
    left.send({ type: 'late' });
    expect(await all(right.messages())).toEqual([]);
  });

  it('closes when its reader leaves', async () => {
    const [left, right] = channelPair();
    left.send({ n: 1 });
    for await (const message of right.messages()) {
      expect(message).toEqual({ n: 1 });
      break;
    }
    await left.closed;
  });

  it('is iterated once', async () => {
    const [left, right] = channelPair();
    left.close();
    await all(right.messages());
    await expect(all(right.messages())).rejects.toThrow('iterated once');
  });
});
