import { sealConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import { conflict } from '@wherry/core/errors.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { FollowedObject, SystemObject, SystemObjects } from '@wherry/core/ports/system-objects.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import { FollowedRing } from './followed-ring.ts';
import { keyRingOf, keysJsonSchema, newKey, serializeKeysJson, type KeysJson } from './keys-json.ts';
import { keyRingOver } from './ring-storage.ts';
import { activate, beginRotation, conclude, purge, readersBehind } from './ring-transitions.ts';

const NAME = 'wherry-encryption-keys';

/** One Secret, whose watches a test may hold back. */
class OneSecret implements SystemObjects {
  object: SystemObject | undefined;
  #version = 0;
  readonly #watches = new Set<(object: SystemObject | undefined) => void>();

  async get(): Promise<SystemObject | undefined> {
    return this.object;
  }

  async create(): Promise<SystemObject> {
    throw conflict('It exists.');
  }

  async update(_name: string, data: Record<string, Buffer>, resourceVersion: string): Promise<SystemObject> {
    if (this.object?.resourceVersion !== resourceVersion) throw conflict('It has changed.');
    return this.put(data);
  }

  put(data: Record<string, Buffer>): SystemObject {
    this.#version += 1;
    this.object = { data, resourceVersion: String(this.#version) };
    for (const watch of this.#watches) watch(this.object);
    return this.object;
  }

  write(text: string): SystemObject {
    return this.put({ 'keys.json': Buffer.from(text) });
  }

  ring(): KeysJson {
    return keysJsonSchema.parse(JSON.parse(this.object?.data['keys.json']?.toString() ?? ''));
  }

  /** @param hears whether its watch brings anything. */
  followed(hears: () => boolean): FollowedObject {
    return {
      onChange: (callback) => {
        const watch = (object: SystemObject | undefined): void => (hears() ? callback(object) : undefined);
        this.#watches.add(watch);
        return () => void this.#watches.delete(watch);
      },
      start: async () => undefined,
      stop: async () => undefined,
    };
  }
}

describe('the ring of a cluster', () => {
  let clock: FakeClock;
  let logger: FakeLogger;
  let secret: OneSecret;
  let store: FakeResourceStore;
  let deaf: Set<string>;
  let rings: FollowedRing[];

  beforeEach(() => {
    clock = new FakeClock();
    logger = new FakeLogger();
    secret = new OneSecret();
    store = new FakeResourceStore({ clock });
    deaf = new Set();
    rings = [];
    secret.write(serializeKeysJson({ format: 1, current: 1, keys: [newKey(1, clock.now())] }));
  });
  afterEach(async () => {
    const stopped = Promise.all(rings.map((ring) => ring.stop()));
    await clock.advance(3000);
    await stopped;
  });

  const make = (reader: string, objects: Pick<ResourceStore, 'list'> = store): FollowedRing => {
    const followed = secret.followed(() => !deaf.has(reader));
    const ring = new FollowedRing({
      secrets: secret,
      store: objects,
      followed,
      name: NAME,
      systemNamespace: 'wherry-system',
      reader,
      clock,
      logger,
    });
    rings.push(ring);
    return ring;
  };
  const start = async (reader: string): Promise<FollowedRing> => {
    const ring = make(reader);
    await ring.start();
    return ring;
  };
  const begin = (ring: FollowedRing) => ring.change((state) => beginRotation(state, clock.now()));
  const tryToActivate = (ring: FollowedRing) => ring.change((state) => activate(state, clock.now()));

  it('E5: is not active with a new key before every replica has read and acknowledged it', async () => {
    const leader = await start('leader');
    const other = await start('other');
    deaf.add('other');
    await begin(leader);
    await clock.advance(1000);
    expect(readersBehind(secret.ring(), 'knows')).toEqual(['other']);
    expect((await tryToActivate(leader)).current).toBe(1);
    deaf.delete('other');
    // The next thing that happens to the Secret.
    secret.put(secret.object?.data ?? {});
    await clock.advance(1000);
    expect(keyRingOver(other).get(2)).toBeDefined();
    expect((await tryToActivate(leader)).current).toBe(2);
    await clock.advance(1000);
    expect(keyRingOver(other).current().version).toBe(2);
    expect(readersBehind(secret.ring(), 'writes')).toEqual([]);
  });

  it('E5: is known to a replica that starts while a key is being added, or its start is seen', async () => {
    const leader = await start('leader');
    const late = make('late');
    const [, ring] = await Promise.all([late.start(), begin(leader)]);
    const after = await tryToActivate(leader);
    if (after.current === 2) expect(late.ring().keys).toHaveLength(2);
    else expect(readersBehind(ring, 'knows')).toContain('late');
    await clock.advance(1000);
    expect((await tryToActivate(leader)).current).toBe(2);
    expect(late.ring().keys).toHaveLength(2);
  });

  it('E5: reads the Secret again for a version that it does not know', async () => {
    const leader = await start('leader');
    const other = await start('other');
    deaf.add('other');
    const keys = keyRingOver(other);
    const news: number[] = [];
    keys.onChange(() => news.push(keys.current().version));
    await begin(leader);
    expect(keys.get(2)).toBeUndefined();
    await clock.advance(100);
    expect(keys.get(2)).toBeDefined();
    expect(news).toEqual([1]);
  });

  it('loses its readers with those that stop', async () => {
    const ring = await start('one');
    await start('two');
    expect(Object.keys(secret.ring().readers ?? {})).toEqual(['one', 'two']);
    await ring.stop();
    expect(Object.keys(secret.ring().readers ?? {})).toEqual(['two']);
  });

  it('E4: stays as it was where a state lacks a key that values may need, and says so once', async () => {
    const ring = await start('one');
    await begin(ring);
    await tryToActivate(ring);
    await clock.advance(1000);
    const good = secret.ring();
    await tryToActivate(ring);
    secret.write(serializeKeysJson({ ...good, current: 1, keys: good.keys.slice(0, 1) }));
    secret.write('{"keys":');
    secret.write('{"keys":');
    await clock.advance(1000);
    expect(keyRingOver(ring).current().version).toBe(2);
    await expect(ring.change((state) => state)).rejects.toThrow('is truncated or not JSON');
    const problems = logger.lines.filter(({ level }) => level === 'error');
    expect(problems).toHaveLength(2);
    expect(JSON.stringify(problems)).toContain('no longer has the key of version 2');
    expect(JSON.stringify(logger.lines)).not.toContain(good.keys[0]?.secret);
  });

  describe('FT12: beside objects of another installation', () => {
    const seal = async (name: string): Promise<void> => {
      const owner = { kind: 'FunctionSecret', metadata: { namespace: store.namespace, name } } as const;
      const value = sealConfidential(keyRingOf(secret.ring()), owner, 'spec.value', 'a value');
      await store.create({ ...owner, metadata: { name }, spec: { name, scope: 'global', value } });
    };

    it('is refused in one line that names the Secret, registers nothing, and starts once the right one is back', async () => {
      await seal('one');
      const right = secret.ring();
      secret.write(serializeKeysJson({ format: 1, current: 1, keys: [newKey(1, clock.now())] }));
      const ring = make('one');
      const foreign = secret.object;
      await expect(ring.start()).rejects.toMatchObject({
        name: 'StartError',
        message:
          'The Secret wherry-system/wherry-encryption-keys (keys.json) is of another installation or older than the data, of which it decrypts nothing (1 objects tried, FunctionSecret one first): restore it from a backup',
      });
      expect(secret.object).toBe(foreign);
      expect(() => ring.ring()).toThrow('have not been read yet');
      secret.write(serializeKeysJson(right));
      await ring.start();
      expect(ring.ring().keys).toEqual(right.keys);
    });

    it('is read again where a rotation ended while the values were tried', async () => {
      const leader = await start('leader');
      const late = make('late', {
        async list(kind) {
          if (leader.ring().current === 1) {
            await begin(leader);
            await clock.advance(1000);
            await tryToActivate(leader);
            await seal('one');
          }
          return store.list(kind);
        },
      });
      await late.start();
      expect(late.ring().current).toBe(2);
    });
  });

  it('goes on without a key that was purged', async () => {
    const ring = await start('one');
    const other = await start('other');
    await begin(ring);
    await clock.advance(1000);
    await tryToActivate(ring);
    await clock.advance(1000);
    await ring.change((state) => conclude(state, clock.now(), { processed: 0, total: 0, failed: 0 }));
    await ring.change((state) => purge(state, 1));
    await clock.advance(1000);
    expect(keyRingOver(other).get(1)).toBeUndefined();
    expect(other.ring().keys.map(({ version }) => version)).toEqual([2]);
  });

  it('is not there before it was read, and not where the Secret is missing', async () => {
    const ring = make('one');
    expect(() => ring.ring()).toThrow('have not been read yet');
    secret.object = undefined;
    await expect(ring.start()).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining(NAME) });
  });
});
