import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@wherry/testing/eventually.ts';
import { logEntry } from '@wherry/testing/log-entry.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';
import type { LogEntryView } from './log-schemas.ts';

describe('the stream of log entries', () => {
  let manager: TestManager;
  const listeners: IncomingMessage[] = [];

  beforeEach(async () => {
    manager = await startTestManager();
  });
  afterEach(async () => {
    for (const answer of listeners.splice(0)) answer.destroy();
    await manager.stop();
  });

  const write = (...entries: Partial<LogEntry>[]): void =>
    manager.telemetry.write(entries.map((fields) => logEntry({ functionName: 'fn', ...fields })));

  interface Listener {
    status: number;
    text: () => string;
    events: () => { id: string; entry: LogEntryView }[];
    messages: () => string[];
    /** Waits until so many events have come; the looks of the stream are a tenth of a second apart. */
    receives: (count: number) => Promise<void>;
    answer: IncomingMessage;
  }
  const listen = async (query = '', headers: Record<string, string> = {}): Promise<Listener> => {
    const { port } = manager.server.address() as AddressInfo;
    const options = { host: '127.0.0.1', port, path: `/api/logs/stream${query}`, agent: false };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get({ ...options, headers: { 'X-API-Key': KEY, ...headers } }, resolve).on('error', reject);
    });
    listeners.push(answer);
    let text = '';
    answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    answer.on('error', () => undefined);
    const events = (): ReturnType<Listener['events']> =>
      text
        .split('\n\n')
        .slice(0, -1)
        .flatMap((block) => {
          const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(block) ?? [];
          return data === undefined ? [] : [{ id: id!, entry: JSON.parse(data) as LogEntryView }];
        });
    const messages = (): string[] => events().map(({ entry }) => entry.message);
    const receives = (count: number): Promise<void> => {
      // Waiting for no event waits for nothing, and what follows would read events that have not come.
      expect(count).toBeGreaterThan(0);
      return eventually(async () => {
        await manager.clock.advance(100);
        expect(messages().length).toBeGreaterThanOrEqual(count);
      });
    };
    return { status: answer.statusCode ?? 0, text: () => text, events, messages, receives, answer };
  };

  it('has each entry that arrives, as GET shows it, with its id as the id of the event', async () => {
    write({ message: 'before' });
    const listener = await listen();
    write({ message: 'one', args: '["a\\nb"]', timestamp: 5 }, { message: 'two', functionName: 'other' });
    await listener.receives(2);
    expect(listener.messages()).toEqual(['one', 'two']);
    const response = await fetch(
      `http://127.0.0.1:${(manager.server.address() as AddressInfo).port}/api/logs?functionId=fn&limit=1`,
      { headers: { 'X-API-Key': KEY } },
    );
    const { data } = (await response.json()) as { data: { logs: LogEntryView[] } };
    expect(listener.events()[0]).toEqual({ id: data.logs[0]!.id, entry: data.logs[0] });
  });

  it.each([
    ['?functionId=fn', ['a', 'b', 'c']],
    ['?level=error,warn', ['b', 'c', 'd']],
    ['?functionId=fn&level=error', ['b']],
  ])('is filtered: %s', async (query, expected) => {
    write({ message: 'first' });
    const listener = await listen(query, { 'Last-Event-ID': '1' });
    write(
      { message: 'a' },
      { message: 'b', level: 'error' },
      { message: 'c', level: 'warn' },
      { message: 'd', functionName: 'other', level: 'error' },
    );
    await listener.receives(expected.length);
    expect(listener.messages()).toEqual(expected);
  });

  it('goes on after the Last-Event-ID, without loss and repeat, however much has come since', async () => {
    manager.telemetry.retain({ maxPerFunction: 100_000, retentionSeconds: 0, intervalSeconds: 300 });
    const written: string[] = [];
    const seen: string[] = [];
    let last = '0';
    // A listener that loses its connection somewhere in each portion, and once in a portion of one entry.
    for (const portion of [1, 700, 4300, 7000]) {
      const messages = Array.from({ length: portion }, (_, index) => String(written.length + index));
      write(...messages.map((message) => ({ message, timestamp: Number(message) })));
      written.push(...messages);
      const listener = await listen('', { 'Last-Event-ID': last });
      await listener.receives(1);
      listener.answer.destroy();
      seen.push(...listener.messages());
      last = listener.events().at(-1)!.id;
    }
    write({ message: 'end', timestamp: written.length });
    const listener = await listen('', { 'Last-Event-ID': last });
    await listener.receives(written.length + 1 - seen.length);
    expect([...seen, ...listener.messages()]).toEqual([...written, 'end']);
  }, 60_000);

  it('of a rare entry behind many others has it, though one look reads only a part of them', async () => {
    manager.telemetry.retain({ maxPerFunction: 100_000, retentionSeconds: 0, intervalSeconds: 300 });
    write({ message: 'first' });
    write(...Array.from({ length: 11_000 }, () => ({ functionName: 'busy' })), { message: 'rare' });
    const listener = await listen('?functionId=fn', { 'Last-Event-ID': '1' });
    await listener.receives(1);
    expect(listener.messages()).toEqual(['rare']);
  });

  it('after an id of a database that is gone has everything of the new one', async () => {
    write({ message: 'new' });
    const listener = await listen('', { 'Last-Event-ID': '999999' });
    await listener.receives(1);
    expect(listener.messages()).toEqual(['new']);
  });

  it('keeps the connection open with a comment', async () => {
    const listener = await listen();
    await manager.clock.advance(15_000);
    await eventually(() => expect(listener.text()).toContain('\n\n:\n\n'));
  });

  it('M10: a listener that does not read holds up neither another one nor the writers', async () => {
    const slow = await listen();
    slow.answer.pause();
    const fast = await listen();
    for (let round = 0; round < 20; round += 1) {
      write(...Array.from({ length: 20 }, (_, index) => ({ message: `${round * 20 + index} ${'x'.repeat(32_768)}` })));
      await fast.receives((round + 1) * 20);
    }
    expect(fast.messages().map((message) => parseInt(message))).toEqual(Array.from({ length: 400 }, (_, at) => at));
    expect(manager.telemetry.dropped()).toBe(0);
    slow.answer.resume();
    await slow.receives(400);
    expect(slow.messages()).toEqual(fast.messages());
  }, 60_000);

  it('ends when its key is disabled', async () => {
    const key = manager.store;
    const listener = await listen();
    const closed = new Promise((resolve) => void listener.answer.once('close', resolve));
    const [own] = (await key.list('ApiKey')).items;
    await key.delete('ApiKey', own!.metadata.name);
    await eventually(async () => {
      await manager.clock.advance(1000);
      expect(listener.answer.complete).toBe(true);
    });
    await closed;
  });

  it.each([
    ['?level=loud', {}, 400],
    ['?search=x', {}, 400],
    ['?functionId=missing', {}, 404],
    ['', { 'Last-Event-ID': 'x' }, 400],
    ['', { 'Last-Event-ID': '-1' }, 400],
    ['', { 'X-API-Key': 'nobodys-key-value' }, 401],
  ])('refuses %s %j with %i', async (query, headers, status) => {
    expect((await listen(query, headers as Record<string, string>)).status).toBe(status);
  });

  it('takes an empty Last-Event-ID as none', async () => {
    write({ message: 'before' });
    const listener = await listen('', { 'Last-Event-ID': '' });
    write({ message: 'after' });
    await listener.receives(1);
    expect(listener.messages()).toEqual(['after']);
  });
});
