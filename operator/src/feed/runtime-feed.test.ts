import { channelPair } from '@wherry/testing/fakes/fake-feed-channel.ts';
import { HEARTBEAT_SECONDS, runtimeDownSchema, type RuntimeDown } from '@wherry/core/feed/messages.ts';
import { logEntry } from '@wherry/testing/log-entry.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { RuntimeIdentity, RuntimeSession } from '@wherry/core/ports/runtime-feed.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { TestWorld, type RunningOperator } from '../testing/test-world.ts';

const ARTIFACT = 'export default () => new Response();';

describe("the runtimes' feed", () => {
  let world: TestWorld;
  let running: RunningOperator;
  beforeEach(async () => {
    world = new TestWorld();
    await world.content.put(Buffer.from(ARTIFACT));
    for (const name of ['team', 'others']) await world.store.create({ kind: 'KeyGroup', metadata: { name }, spec: {} });
    await world.createFunction('hello', { keyGroups: ['team'], debug: true, displayName: 'Hello' });
    await world.createFunction('other');
    running = await world.start();
  });
  afterEach(() => world.stop());

  function attach(changes: Partial<RuntimeIdentity> = {}): {
    session: RuntimeSession;
    messages: RuntimeDown[];
    own: FeedChannel;
  } {
    const [theirs, own] = channelPair();
    const messages: RuntimeDown[] = [];
    void (async () => {
      for await (const message of own.messages()) messages.push(runtimeDownSchema.parse(message));
    })();
    const identity = {
      instanceId: 'i1',
      workload: 'hello-1',
      functionName: 'hello',
      revision: sha256(ARTIFACT),
      listen: { path: '/run/i1.sock' },
    };
    return { session: running.runtimeFeed.attach(theirs, { ...identity, ...changes }), messages, own };
  }
  const secretsOf = (message: RuntimeDown | undefined): string[] =>
    message === undefined || message.type === 'heartbeat'
      ? []
      : message.state.secrets.map(({ scope, name, value }) => `${scope} ${name}=${value}`);

  it('starts a runtime with its artifact, its token and what its handler may know', async () => {
    const { messages, own, session } = attach();
    await world.run();
    expect(messages).toMatchObject([
      {
        type: 'start',
        artifact: ARTIFACT,
        revision: sha256(ARTIFACT),
        listen: { path: '/run/i1.sock' },
        state: {
          function: { id: 'hello', name: 'Hello', keyGroups: ['team'], debug: true },
          settings: { logLevel: 'info' },
          secrets: [],
        },
      },
    ]);
    own.send({ type: 'loaded', address: { path: '/run/i1.sock' } });
    expect(await session.outcome).toEqual({ type: 'loaded', address: { path: '/run/i1.sock' } });
  });

  it('S2: workloads have tokens of their own', async () => {
    const tokens = [attach(), attach({ workload: 'hello-2' }), attach({ instanceId: 'i2' })];
    await world.run();
    const [first, second, third] = tokens.map(({ messages }) =>
      messages[0]?.type === 'start' ? messages[0].invocationToken : '',
    );
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(second).not.toBe(first);
    expect(third).toBe(first);
  });

  it('S5: sends a runtime the secrets that its function may see, and no others', async () => {
    await world.createKey('ours', 'team', 'wh_a_key_of_the_team');
    await world.createKey('theirs', 'others', 'wh_a_key_of_others');
    await world.createSecret('s1', { name: 'A', scope: 'global' }, 'global');
    await world.createSecret('s2', { name: 'A', scope: 'function', function: 'hello' }, 'own');
    await world.createSecret('s3', { name: 'A', scope: 'function', function: 'other' }, 'of another function');
    await world.createSecret('s4', { name: 'A', scope: 'group', keyGroup: 'team' }, 'of the group');
    await world.createSecret('s5', { name: 'A', scope: 'group', keyGroup: 'others' }, 'of another group');
    await world.createSecret('s6', { name: 'A', scope: 'key', apiKey: 'ours' }, 'of the key');
    await world.createSecret('s7', { name: 'A', scope: 'key', apiKey: 'theirs' }, 'of another key');
    await world.run();
    const { messages } = attach();
    const open = attach({ functionName: 'other' });
    await world.run();
    expect(secretsOf(messages[0])).toEqual([
      'function A=own',
      'global A=global',
      'group A=of the group',
      'key A=of the key',
    ]);
    expect(secretsOf(open.messages[0])).toEqual(['function A=of another function', 'global A=global']);
  });

  it('sends changes within a second, and nothing where nothing differs', async () => {
    await world.createKey('ours', 'team', 'wh_a_key_of_the_team');
    const { messages } = attach();
    const other = attach({ functionName: 'other' });
    await world.run();
    await world.createSecret('s1', { name: 'A', scope: 'key', apiKey: 'ours' }, 'one');
    await world.run();
    expect(secretsOf(messages.at(-1))).toEqual(['key A=one']);
    await world.edit('FunctionSecret', 's1', { comment: 'a comment is none of their business' });
    await world.edit('Function', 'hello', { timeoutSeconds: 5 });
    await world.run();
    expect(messages).toHaveLength(2);
    await world.edit('ApiKey', 'ours', { keyGroup: 'others' });
    await world.run();
    expect(secretsOf(messages.at(-1))).toEqual([]);
    await world.store.create({
      kind: 'Settings',
      metadata: { name: 'wherry' },
      spec: { values: { 'log.level': 'debug' } },
    });
    await world.run();
    expect(messages.at(-1)).toMatchObject({ type: 'state', state: { settings: { logLevel: 'debug' } } });
    expect(other.messages.filter(({ type }) => type === 'state')).toHaveLength(1);
  });

  it('E6: leaves out a secret that does not open, and says so', async () => {
    await world.createSecret('good', { name: 'G', scope: 'global' }, 'good');
    await world.store.create({
      kind: 'FunctionSecret',
      metadata: { name: 'bad' },
      spec: { name: 'B', scope: 'global', value: { encrypted: 'wherry1.x' } },
    });
    await world.run();
    const { messages } = attach();
    await world.run();
    expect(secretsOf(messages[0])).toEqual(['global G=good']);
    expect((await world.get('FunctionSecret', 'bad')).status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', reason: 'DecryptionFailed' }),
    );
    expect(running.metrics.value('undecryptable_values', { kind: 'FunctionSecret' })).toBe(1);
  });

  it('S6: log entries are of the function whose runtime sent them, and none is a record of the platform', async () => {
    const { own } = attach();
    const entry = logEntry({ functionName: 'other' });
    own.send({ type: 'logs', entries: [entry, { ...entry, level: 'exec_end' }], dropped: 0 });
    await world.run();
    expect(world.telemetry.entries).toEqual([{ ...entry, functionName: 'hello' }]);
  });

  it('S8: counts the last entries of an instance that were announced and did not come', async () => {
    const entry = logEntry({ functionName: 'hello' });
    const says = async (messages: object[]): Promise<number> => {
      const { own } = attach();
      for (const message of messages) own.send({ type: 'logs', dropped: 0, ...message });
      own.close();
      await world.run();
      return running.metrics.value('telemetry_dropped_total', { component: 'runtime', reason: 'congested' });
    };
    expect(await says([{ entries: [], following: 3 }, { entries: [entry, entry] }, { entries: [entry] }])).toBe(0);
    expect(await says([{ entries: [], following: 5 }, { entries: [entry, entry] }])).toBe(3);
    // What was announced before has come before.
    expect(
      await says([
        { entries: [], following: 9 },
        { entries: [], following: 1 },
      ]),
    ).toBe(4);
  });

  it("S8: however often its instances start again, a function's entries have one rate, and another's are kept", async () => {
    const entry = logEntry({ functionName: 'hello' });
    const prints = async (functionName: string, instanceId: string): Promise<void> => {
      const { own } = attach({ functionName, instanceId });
      own.send({ type: 'logs', entries: Array.from({ length: 500 }, () => entry), dropped: 0 });
      await world.run(1);
      own.close();
    };
    const began = world.clock.monotonic();
    for (let start = 0; start < 40; start += 1) await prints('hello', `i${start}`);
    await prints('other', 'o');
    const kept = (name: string): number =>
      world.telemetry.entries.filter(({ functionName, level }) => functionName === name && level === 'log').length;
    const passedSeconds = (world.clock.monotonic() - began) / 1000;
    expect(kept('hello')).toBeGreaterThanOrEqual(8192);
    expect(kept('hello')).toBeLessThanOrEqual(8192 + passedSeconds * 1024);
    expect(kept('other')).toBe(500);
  });

  it('S6: no entry is of a time that cannot be, where it would stay the newest for ever', async () => {
    const { own } = attach();
    const now = world.clock.now();
    const requestId = 'r'.repeat(100);
    const times = [now - 5, now + 5, now + 120_000, 1e300, -1];
    own.send({ type: 'logs', entries: times.map((timestamp) => logEntry({ requestId, timestamp })), dropped: 0 });
    await world.run();
    expect(world.telemetry.entries.map(({ timestamp }) => timestamp)).toEqual([now - 5, now + 5, now, now, now]);
    expect(new Set(world.telemetry.entries.map(({ requestId }) => requestId.length))).toEqual(new Set([36]));
  });

  it.each<[string, RuntimeIdentity['listen'], object]>([
    ['another socket', { path: '/run/i1.sock' }, { path: '/var/run/docker.sock' }],
    ['a port, where it has a socket', { path: '/run/i1.sock' }, { host: '127.0.0.1', port: 80 }],
    ['another host', { host: '10.0.0.1', port: 0 }, { host: '169.254.169.254', port: 80 }],
    ['another port', { host: '10.0.0.1', port: 8080 }, { host: '10.0.0.1', port: 80 }],
  ])('R2: cuts off a runtime that says it listens at %s', async (_name, listen, address) => {
    const { own, session } = attach({ listen });
    own.send({ type: 'loaded', address });
    // What came along with it is not heard any more.
    own.send({ type: 'loaded', address: listen });
    await world.run();
    expect(await session.outcome).toEqual({ type: 'closed' });
  });

  it('takes the port that a runtime chose where it was free to', async () => {
    const { own, session } = attach({ listen: { host: '10.0.0.1', port: 0 } });
    own.send({ type: 'loaded', address: { host: '10.0.0.1', port: 4711 } });
    expect(await session.outcome).toMatchObject({ type: 'loaded', address: { port: 4711 } });
  });

  it('beats, and knows when it last heard of the runtime', async () => {
    const { messages, own, session } = attach();
    const attached = world.clock.monotonic();
    expect(session.lastHeard()).toBe(attached);
    await world.run(HEARTBEAT_SECONDS * 1000 + 10);
    expect(messages.at(-1)).toEqual({ type: 'heartbeat' });
    expect(session.lastHeard()).toBe(attached);
    own.send({ type: 'alive' });
    await world.run(10);
    expect(session.lastHeard()).toBeGreaterThan(attached + HEARTBEAT_SECONDS * 1000);
    own.close();
    await world.run();
    const count = messages.length;
    await world.run(10_000);
    expect(messages).toHaveLength(count);
    expect(await session.outcome).toEqual({ type: 'closed' });
  });

  it.each<[string, object, object]>([
    [
      'its report',
      { type: 'failed', reason: 'ExportError', message: 'no default export' },
      { type: 'failed', reason: 'ExportError', message: 'no default export' },
    ],
    ['nonsense', { type: 'nonsense' }, { type: 'closed' }],
  ])('the outcome of a start after %s', async (_name, message, outcome) => {
    const { own, session } = attach();
    own.send(message);
    await world.run();
    expect(await session.outcome).toEqual(outcome);
  });

  it('fails a start whose artifact is not stored, and ends one whose function is gone', async () => {
    const lost = attach({ revision: 'e'.repeat(64) });
    const gone = attach({ functionName: 'deleted' });
    await world.run();
    expect(await lost.session.outcome).toMatchObject({ type: 'failed', reason: 'LoadError' });
    expect(await gone.session.outcome).toEqual({ type: 'closed' });
  });
});
