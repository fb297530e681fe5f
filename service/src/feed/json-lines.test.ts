import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fc } from '@wherry/testing/properties.ts';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { jsonLines } from './json-lines.ts';

async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [peer] = (await accepted) as [Socket];
  server.close();
  return [client, peer];
}

async function collect(messages: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const message of messages) all.push(message);
  return all;
}

describe('jsonLines', () => {
  it('carries whole messages in order, both ways', async () => {
    const [a, b] = (await socketPair()).map((socket) => jsonLines(socket));
    const atA = collect(a!.messages());
    const reader = b!.messages()[Symbol.asyncIterator]();
    a!.send({ n: 1, text: 'line\nbreak é' });
    a!.send({ n: 2, text: 'x'.repeat(300_000) });
    expect((await reader.next()).value).toEqual({ n: 1, text: 'line\nbreak é' });
    expect((await reader.next()).value).toEqual({ n: 2, text: 'x'.repeat(300_000) });
    b!.send({ answer: true });
    await new Promise((resolve) => setImmediate(resolve));
    await reader.return?.(undefined);
    expect(await atA).toEqual([{ answer: true }]);
    await Promise.all([a!.closed, b!.closed]);
  });

  it('joins lines however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue(), { maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
        async (values, cuts) => {
          const [a, b] = await socketPair();
          const received = collect(jsonLines(b).messages());
          const bytes = Buffer.from(values.map((value) => `${JSON.stringify({ value })}\n`).join(''));
          for (let at = 0; at < bytes.length;) {
            const size = cuts.next().value;
            a.write(bytes.subarray(at, at + size));
            at += size;
          }
          a.end();
          expect(await received).toEqual(values.map((value) => JSON.parse(JSON.stringify({ value })) as unknown));
          a.destroy();
        },
      ),
      { numRuns: 30 },
    );
  });

  it('ends the connection at a line that is no JSON, or too long', async () => {
    for (const bad of ['{"a":\n', `"${'x'.repeat(2000)}"\n`]) {
      const [a, b] = await socketPair();
      const channel = jsonLines(b, { maxLineBytes: 1000 });
      a.on('error', () => undefined);
      a.write(`{"first":1}\n${bad}`.padEnd(70_000, ' '));
      expect((await collect(channel.messages()))[0]).toEqual({ first: 1 });
      await channel.closed;
      a.destroy();
    }
  });

  it('S8: reads a peer no faster than its pace allows, in order and to the end', async () => {
    const [a, b] = await socketPair();
    const clock = new FakeClock();
    const channel = jsonLines(b, {
      pace: { bytesPerSecond: 1_000_000, burstBytes: 2_000_000, leastBytes: 1000, clock },
    });
    const sender = jsonLines(a, { maxBufferedBytes: Infinity });
    for (let n = 0; n < 10; n += 1) sender.send({ n, filler: 'x'.repeat(1_000_000) });
    const received: number[] = [];
    const reading = (async () => {
      for await (const message of channel.messages()) received.push((message as { n: number }).n);
    })();
    await eventually(() => expect(received.length).toBe(1));
    // A second for each of the lines beyond the burst.
    await clock.advanceUntil(eventually(() => expect(received).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])));
    expect(clock.monotonic()).toBeGreaterThanOrEqual(8000);
    sender.close();
    await reading;
  });

  it('S8: counts many short lines as longer ones', async () => {
    const [a, b] = await socketPair();
    const clock = new FakeClock();
    const channel = jsonLines(b, { pace: { bytesPerSecond: 1000, burstBytes: 2000, leastBytes: 1000, clock } });
    a.write('1\n2\n3\n4\n');
    const received: unknown[] = [];
    const reading = (async () => {
      for await (const message of channel.messages()) received.push(message);
    })();
    await eventually(() => expect(received).toEqual([1, 2]));
    await clock.advanceUntil(eventually(() => expect(received).toEqual([1, 2, 3, 4])));
    expect(clock.monotonic()).toBeGreaterThanOrEqual(2000);
    a.destroy();
    await reading;
  });

  it('says when a peer has taken what waited for it, and when it has gone instead', async () => {
    const [a, b] = await socketPair();
    const channel = jsonLines(a, { maxBufferedBytes: Infinity });
    await channel.drained?.();
    b.pause();
    const send = (): void => {
      while (!a.writableNeedDrain) channel.send({ filler: 'x'.repeat(1_000_000) });
    };
    send();
    const drained = channel.drained?.();
    b.resume();
    await drained;
    expect(channel.queuedBytes?.()).toBe(0);
    b.pause();
    send();
    const gone = channel.drained?.();
    b.destroy();
    await gone;
    await channel.closed;
  });

  it('cuts off a peer that does not read, and takes no more', async () => {
    const [a, b] = await socketPair();
    b.pause();
    const channel = jsonLines(a, { maxBufferedBytes: 100_000 });
    for (let n = 0; n < 500; n += 1) channel.send({ filler: 'x'.repeat(50_000) });
    await channel.closed;
    expect(() => channel.send({ late: true })).not.toThrow();
    b.destroy();
  });
});
