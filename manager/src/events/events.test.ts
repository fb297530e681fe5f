import { get, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import supertest from 'supertest';
import { eventually } from '@wherry/testing/eventually.ts';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';

interface Received {
  event: string | undefined;
  id: string;
  data: { type: string; kind: string; id: string; object: Record<string, unknown> | null };
}

const FUNCTION = { name: 'Hello', handler: 'app/hello.ts', route: '/hello', methods: ['GET'] };
/** Large, so that a few hundred events are more than a socket takes. */
const CORS = {
  origins: Array.from({ length: 64 }, (_, index) => `https://${'a'.repeat(150)}.${index}.example`),
};

describe('GET /api/events', () => {
  let manager: TestManager;
  const answers: IncomingMessage[] = [];
  const sockets: Socket[] = [];
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);

  beforeEach(async () => {
    manager = await startTestManager();
  });
  afterEach(async () => {
    for (const answer of answers.splice(0)) answer.destroy();
    for (const socket of sockets.splice(0)) socket.destroy();
    await manager.stop();
  });

  const address = () => ({ host: '127.0.0.1', port: (manager.server.address() as AddressInfo).port });

  /** A listener, once its stream is open; `received` grows. */
  async function listen(lastEventId?: string, key = KEY) {
    const headers = { 'x-api-key': key, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) };
    const target = { ...address(), path: '/api/events', headers, agent: false };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get(target, resolve).on('error', reject);
    });
    answers.push(answer);
    let text = '';
    answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    answer.on('error', () => undefined);
    const fields = (block: string): Map<string, string> =>
      new Map(block.split('\n').map((line) => [line.split(': ', 1)[0]!, line.slice(line.indexOf(': ') + 2)]));
    const all = () => text.split('\n\n').slice(0, -1).map(fields);
    const received = (): Received[] =>
      all()
        .filter((block) => block.has('data'))
        .map((block) => ({
          event: block.get('event'),
          id: block.get('id')!,
          data: JSON.parse(block.get('data')!) as Received['data'],
        }));
    // Where to resume is said at once, before any event.
    if (answer.statusCode === 200) await eventually(() => expect(all().some((block) => block.has('id'))).toBe(true));
    const lastId = (): string =>
      all()
        .findLast((block) => block.has('id'))!
        .get('id')!;
    return { answer, received, lastId, text: () => text };
  }
  const factsOf = (events: Received[]) => events.map(({ data: { type, kind, id } }) => [type, kind, id]);
  const expectFacts = (listener: { received: () => Received[] }, facts: unknown[]): Promise<void> =>
    eventually(() => expect(factsOf(listener.received())).toEqual(facts));

  it('says what was added, modified and deleted, each with what GET returns, and without values', async () => {
    const listener = await listen();
    expect(listener.answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    const { body: group } = await api().post('/api/key-groups').send({ name: 'team' }).expect(201);
    const value = 'CANARY-the-value-of-a-key';
    const { body: key } = await api().post('/api/keys').send({ groupId: group.id, name: 'ci', value }).expect(201);
    const { body: made } = await api().post('/api/functions').send(FUNCTION).expect(201);
    const { id } = made.function as { id: string };
    const { body: secret } = await api()
      .post('/api/secrets')
      .send({ name: 'S', value: 'CANARY', scope: 'group', groupId: group.id })
      .expect(201);
    const { body: source } = await api().post('/api/sources').send({ name: 'app', type: 'manual' }).expect(201);
    await api()
      .put('/api/settings')
      .send({ settings: { 'server.name': 'Here' } })
      .expect(200);
    const facts: unknown[] = [
      ['added', 'KeyGroup', group.id],
      ['added', 'ApiKey', key.id],
      ['modified', 'KeyGroup', group.id],
      ['added', 'Function', id],
      ['added', 'FunctionSecret', secret.id],
      ['added', 'CodeSource', source.id],
      ['modified', 'Settings', 'wherry'],
    ];
    // Kinds are watched one by one: their order is not that of the requests.
    const sorted = (list: unknown[]) => list.map((fact) => JSON.stringify(fact)).sort();
    await eventually(() => expect(sorted(factsOf(listener.received()))).toEqual(sorted(facts)));
    const last = (kind: string): unknown => listener.received().findLast(({ data }) => data.kind === kind)?.data.object;
    const read = async (path: string) => (await api().get(path).expect(200)).body as Record<string, unknown>;
    expect(last('KeyGroup')).toEqual({ ...(await read(`/api/key-groups/${group.id}`)), keyCount: 1 });
    const shown = (await read(`/api/keys/${key.id}`)).key as object;
    expect(last('ApiKey')).toEqual({ ...shown, lastUsedAt: (last('ApiKey') as { lastUsedAt: unknown }).lastUsedAt });
    expect(last('Function')).toEqual((await read(`/api/functions/${id}`)).function);
    expect(last('FunctionSecret')).toEqual(await read(`/api/secrets/${secret.id}`));
    expect(last('CodeSource')).toEqual(await read(`/api/sources/${source.id}`));
    expect(last('Settings')).toEqual(await read('/api/settings'));
    await api().delete(`/api/keys/${key.id}`).expect(200);
    await eventually(() => {
      const [gone, fewer] = listener.received().slice(facts.length);
      expect(gone?.data).toEqual({ type: 'deleted', kind: 'ApiKey', id: key.id, object: null });
      expect(fewer?.data).toMatchObject({ type: 'modified', kind: 'KeyGroup', object: { keyCount: 0 } });
    });
    expect(listener.received().every(({ event }) => event === 'resource')).toBe(true);
    expect(listener.text()).not.toContain('CANARY');
    expect(listener.text()).not.toContain(KEY);
  });

  it('sends nothing for a change that GET does not show', async () => {
    const listener = await listen();
    const [management] = (await manager.store.list('KeyGroup')).items;
    await manager.store.updateStatus({ ...management!, status: { observedGeneration: 1 } });
    const { body: group } = await api().post('/api/key-groups').send({ name: 'after' }).expect(201);
    await expectFacts(listener, [['added', 'KeyGroup', group.id]]);
  });

  it('goes on after Last-Event-ID, once and in order, and starts with reset where that is gone', async () => {
    const first = await listen();
    const begin = first.lastId();
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c'])
      ids.push(((await api().post('/api/key-groups').send({ name }).expect(201)).body as { id: string }).id);
    const facts = ids.map((id) => ['added', 'KeyGroup', id]);
    await expectFacts(first, facts);
    await expectFacts(await listen(begin), facts);
    const [, second] = first.received();
    await expectFacts(await listen(second!.id), facts.slice(2));
    for (const id of ['of-another-run-7', '7', 'x', `${begin.split('-')[0]}-999999`, `${begin.split('-')[0]}--1`]) {
      const other = await listen(id);
      expect(other.received()).toMatchObject([{ event: 'reset', data: {} }]);
      expect(other.lastId()).toBe(first.lastId());
    }
    await expectFacts(await listen(first.lastId()), []);
  });

  it('lets no listener that stands still delay another; when it falls behind, it begins anew with reset', async () => {
    const { body } = await api()
      .post('/api/functions')
      .send({ ...FUNCTION, cors: CORS })
      .expect(201);
    const { id } = body.function as { id: string };
    const begin = (await listen()).lastId();
    const stalled = connect(address());
    sockets.push(stalled);
    let closed = false;
    stalled.on('error', () => undefined).on('close', () => (closed = true));
    stalled.pause();
    stalled.write(`GET /api/events HTTP/1.1\r\nHost: x\r\nX-API-Key: ${KEY}\r\nLast-Event-ID: ${begin}\r\n\r\n`);
    const others = [await listen(), await listen()];
    const changes = 1800;
    for (let change = 0; change < changes; change += 1) {
      const current = (await manager.store.get('Function', id))!;
      await manager.store.update({ ...current, spec: { ...current.spec, description: String(change) } });
      // As changes come one by one, the others read them one by one.
      if (change % 50 === 49)
        await eventually(() => {
          for (const other of others) expect(other.text().slice(-20_000)).toContain(`"description":"${change}"`);
        });
    }
    for (const other of others) expect(other.received()).toHaveLength(changes);
    // What it has not taken is gone: it is disconnected as soon as it takes more.
    stalled.resume();
    await eventually(() => expect(closed).toBe(true));
    expect((await listen(begin)).received()).toMatchObject([{ event: 'reset' }]);
  }, 60_000);

  it('is for callers with access alone, and ends when they lose it (M5)', async () => {
    expect((await listen(undefined, 'no-key-of-this-service')).answer.statusCode).toBe(401);
    const { body: key } = await api()
      .post('/api/keys')
      .send({ groupId: 'management', name: 'gone-soon', value: 'a-key-that-is-revoked' })
      .expect(201);
    const listener = await listen(undefined, 'a-key-that-is-revoked');
    const ended = new Promise((resolve) => listener.answer.once('close', resolve));
    await api().delete(`/api/keys/${key.id}`).expect(200);
    await manager.clock.advance(1000);
    await ended;
    await api().post('/api/key-groups').send({ name: 'later' }).expect(201);
    expect(listener.text()).not.toContain('"later"');
  });
});
