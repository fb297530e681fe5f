import { FakeClock } from '@wherry/core/fakes/fake-clock.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { LogBuffer } from './log-buffer.ts';

const entry = (message: string): LogEntry => ({ functionName: 'f', requestId: 'r', level: 'log', message, args: null, sequence: 1, timestamp: 0 });

function bench(): { clock: FakeClock; buffer: LogBuffer; sent: { messages: string[]; dropped: number }[]; slow(on: boolean): void } {
  const clock = new FakeClock();
  const sent: { messages: string[]; dropped: number }[] = [];
  let congested = false;
  const buffer = new LogBuffer({
    clock,
    congested: () => congested,
    send: (entries, dropped) => sent.push({ messages: entries.map(({ message }) => message), dropped }),
  });
  return { clock, buffer, sent, slow: (on) => (congested = on) };
}

describe('LogBuffer', () => {
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
    for (let n = 0; n < 9; n += 1) buffer.add(entry(`${n}${'x'.repeat(1024 * 1024)}`));
    await clock.advance(500);
    expect(sent).toEqual([]);
    slow(false);
    await clock.advance(50);
    expect(sent.flatMap(({ messages }) => messages.map((message) => message[0]))).toEqual(['2', '3', '4', '5', '6', '7', '8']);
    expect(sent[0]?.dropped).toBe(2);
  });

  it('sends no message with much more than 1 MiB of text', async () => {
    const { clock, buffer, sent } = bench();
    for (let n = 0; n < 50; n += 1) buffer.add(entry('x'.repeat(64 * 1024)));
    await clock.advance(50);
    expect(sent.map(({ messages }) => messages.length)).toEqual([16, 16, 16, 2]);
  });
});
