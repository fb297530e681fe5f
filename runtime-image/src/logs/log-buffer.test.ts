import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { LogBuffer } from './log-buffer.ts';

const entry = (message: string): LogEntry => ({
  functionName: 'f',
  requestId: 'r',
  level: 'log',
  message,
  args: null,
  sequence: 1,
  timestamp: 0,
});

interface Sent {
  messages: string[];
  dropped: number;
  following?: number;
}

function bench(): { clock: FakeClock; buffer: LogBuffer; sent: Sent[]; slow(on: boolean): void } {
  const clock = new FakeClock();
  const sent: Sent[] = [];
  let congested = false;
  const buffer = new LogBuffer({
    clock,
    congested: () => congested,
    send: ({ entries, ...rest }) => sent.push({ messages: entries.map(({ message }) => message), ...rest }),
  });
  return { clock, buffer, sent, slow: (on) => (congested = on) };
}

describe('LogBuffer', () => {
  it('sends a full batch once what runs has yielded, and the rest after the delay, as the settings are', async () => {
    const { clock, buffer, sent } = bench();
    const sizes = (): number[] => sent.splice(0).map(({ messages }) => messages.length);
    for (let n = 0; n < 50; n += 1) buffer.add(entry(`${n}`));
    // Who prints does not wait for it.
    expect(sizes()).toEqual([]);
    await clock.advance(0);
    expect(sizes()).toEqual([50]);
    buffer.batching = { maxEntries: 2, maxDelayMs: 300 };
    for (let n = 0; n < 5; n += 1) buffer.add(entry(`${n}`));
    await clock.advance(0);
    expect(sizes()).toEqual([2, 2, 1]);
    buffer.add(entry('late'));
    await clock.advance(299);
    expect(sizes()).toEqual([]);
    await clock.advance(1);
    expect(sizes()).toEqual([1]);
  });

  it('sends what came within 50 ms as one batch', async () => {
    const { clock, buffer, sent } = bench();
    buffer.add(entry('a'));
    await clock.advance(49);
    buffer.add(entry('b'));
    expect(sent).toEqual([]);
    await clock.advance(1);
    expect(sent).toEqual([{ messages: ['a', 'b'], dropped: 0 }]);
  });

  it('holds them back from a reader that lags, drops the oldest, and counts what it dropped', async () => {
    const { clock, buffer, sent, slow } = bench();
    slow(true);
    for (let n = 0; n < 20; n += 1) buffer.add(entry(`${n} ${'x'.repeat(512 * 1024)}`));
    await clock.advance(500);
    expect(sent).toEqual([]);
    slow(false);
    await clock.advance(50);
    const kept = sent.flatMap(({ messages }) => messages.map((message) => Number.parseInt(message, 10)));
    expect(kept).toEqual(kept.map((_, at) => 20 - kept.length + at));
    expect(kept.length).toBeGreaterThanOrEqual(13);
    expect(sent[0]?.dropped).toBe(20 - kept.length);
  });

  it.each([
    ['letters', 'x'],
    ['control characters, six bytes each as they are sent', '\u0001'],
    ['quotes', '"'],
    ['ideographs', '\u6f22'],
  ])('S8: sends no message of more than 1 MiB, of %s either', async (_what, character) => {
    const { clock, buffer, sent } = bench();
    for (let n = 0; n < 62; n += 1) {
      buffer.add({ ...entry(character.repeat(64 * 1024)), args: JSON.stringify([character.repeat(1024)]) });
      await clock.advance(50);
    }
    for (let n = 0; n < 10; n += 1) buffer.add(entry(character.repeat(64 * 1024)));
    await clock.advance(50);
    expect(sent.flatMap(({ messages }) => messages)).toHaveLength(72);
    for (const { messages } of sent)
      expect(Buffer.byteLength(JSON.stringify(messages))).toBeLessThanOrEqual(1024 * 1024);
  });

  it('says how many were dropped, though nothing is left to send', () => {
    const { buffer, sent } = bench();
    buffer.add(entry('x'.repeat(2 * 1024 * 1024)));
    buffer.end();
    expect(sent).toEqual([{ messages: [], dropped: 1 }]);
  });

  it('S8: at the end announces how many entries follow, then sends them, to a reader that lags as well', () => {
    const { buffer, sent, slow } = bench();
    slow(true);
    for (let n = 0; n < 700; n += 1) buffer.add(entry(String(n)));
    buffer.end();
    expect(sent.map(({ messages, ...rest }) => [messages.length, rest])).toEqual([
      [0, { dropped: 0, following: 700 }],
      [500, { dropped: 0 }],
      [200, { dropped: 0 }],
    ]);
    buffer.end();
    expect(sent).toHaveLength(3);
  });

  it('S8: reports no more dropped entries in a message than the feed takes, and the rest in the next one', async () => {
    const { clock, buffer, sent, slow } = bench();
    const small = entry('x');
    slow(true);
    for (let n = 0; n < 1_030_000; n += 1) buffer.add(small);
    slow(false);
    await clock.advance(50);
    expect(sent.slice(0, 3).map(({ dropped }) => dropped)).toEqual([1_000_000, expect.any(Number), 0]);
    expect(sent.reduce((sum, { messages, dropped }) => sum + messages.length + dropped, 0)).toBe(1_030_000);
  });
});
