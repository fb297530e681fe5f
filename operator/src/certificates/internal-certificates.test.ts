import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeSystemObjects } from '../testing/fake-system-objects.ts';
import type { Lifetimes } from './authorities.ts';
import { createInternalCertificates, type InternalCertificates } from './internal-certificates.ts';

const HOUR = 3_600_000;
/** Short enough that a whole rotation takes few certificates. */
const LIFETIMES: Lifetimes = { authorityMs: 120 * HOUR, leafMs: 12 * HOUR, joinMs: 2 * HOUR };
/** A rotation begins when the authority has lived two thirds of its life. */
const JOINS = 80 * HOUR;

/** Certificates are looked at in the present, whatever the clock: so a world's past is chosen, and it ends now. */
class World {
  readonly secrets = new FakeSystemObjects();
  readonly configMaps = new FakeSystemObjects<string>();
  readonly clock = { time: 0, now: (): number => this.clock.time };
  readonly certificates: InternalCertificates = this.operator();

  operator(): InternalCertificates {
    const { secrets, configMaps, clock } = this;
    const hosts = { operator: ['127.0.0.1'], manager: ['localhost'] };
    return createInternalCertificates({
      secrets,
      configMaps,
      name: 'wherry',
      systemNamespace: 'wherry-system',
      hosts,
      lifetimes: LIFETIMES,
      clock,
      logger: new FakeLogger(),
    });
  }

  /** An installation that is so old now; `watch` is called each hour. */
  async live(ms: number, watch: () => void = () => undefined): Promise<void> {
    const end = Date.now();
    for (let time = end - ms; ; time = Math.min(time + HOUR, end)) {
      this.clock.time = time;
      await this.certificates.upkeep();
      watch();
      if (time === end) return;
    }
  }

  /** What a program has mounted. */
  mounted(program: string): { cert: string; key: string; ca: string } {
    const read = (entry: string): string => this.secrets.text(`wherry-${program}-tls`, entry);
    return { cert: read('tls.crt'), key: read('tls.key'), ca: read('ca.crt') };
  }

  authorities(): string[] {
    return ['1', '2', '3'].filter((number) => this.secrets.text('wherry-internal-ca', `${number}.crt`) !== '');
  }
}

type Material = { cert: string; key: string; ca: string };

/** A handshake in which both sides check the other. @returns who each found, or what was wrong. */
async function handshake(server: Material, client: Partial<Material>, servername: string): Promise<string> {
  const listener = createServer({
    ...server,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.3',
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const accepted = once(listener, 'secureConnection') as Promise<[TLSSocket]>;
  accepted.catch(() => undefined);
  const socket = connect({
    ...client,
    host: '127.0.0.1',
    port: (listener.address() as AddressInfo).port,
    servername,
    minVersion: 'TLSv1.3',
  });
  try {
    await once(socket, 'secureConnect');
    const [peer] = await accepted;
    const seen = peer.authorized ? peer.getPeerCertificate().subject.CN : String(peer.authorizationError);
    peer.destroy();
    return [socket.getPeerCertificate().subject.CN, seen].join(' ');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    socket.destroy();
    listener.close();
  }
}

const bytes = (data: Record<string, string>): Record<string, Buffer> =>
  Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text)]));

const FEED = 'wherry-feed.wherry-system.svc';
const MANAGER = 'wherry-manager.wherry-system.svc';

describe('the internal certificates', () => {
  it('let operator, router and manager prove themselves to each other by real handshakes, and nobody else', async () => {
    const [world, other] = [new World(), new World()];
    await Promise.all([world.live(0), other.live(0)]);
    const [operator, router, manager] = [world.mounted('operator'), world.mounted('router'), world.mounted('manager')];
    expect(await handshake(operator, router, FEED)).toBe('operator router');
    const expiries = world.certificates.expiries();
    expect([...expiries.keys()].sort()).toEqual(['authority', 'manager', 'operator', 'router']);
    for (const [program, material] of Object.entries({ operator, router, manager }))
      expect(expiries.get(program)).toBe(Date.parse(new X509Certificate(material.cert).validTo));
    expect(await handshake(world.certificates.current(), router, 'wherry-feed.wherry-system.svc.cluster.local')).toBe(
      'operator router',
    );
    expect(await handshake(manager, operator, MANAGER)).toBe('manager operator');
    expect(await handshake(manager, operator, 'localhost')).toBe('manager operator');
    // A runtime has the authority alone, and shows nothing.
    expect(await handshake(operator, { ca: world.configMaps.text('wherry-feed-ca', 'ca.crt') }, FEED)).toMatch(
      /^operator (?!router)/,
    );
    // Another installation's; a name that is not its own; certificates that are not for that side.
    expect(await handshake(operator, { ...other.mounted('router'), ca: router.ca }, FEED)).toMatch(
      /^operator (?!router)/,
    );
    expect(await handshake(operator, { ...router, ca: other.mounted('router').ca }, FEED)).not.toContain('operator');
    expect(await handshake(operator, router, 'evil.example')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await handshake(router, operator, FEED)).not.toContain('router');
    expect(await handshake(operator, manager, FEED)).not.toMatch(/ manager$/);
  });

  it('are agreed on by operators that start at once, and written no more while nothing is due (K3)', async () => {
    const world = new World();
    world.clock.time = Date.now();
    const operators = [world.certificates, world.operator(), world.operator()];
    await Promise.all(operators.map((operator) => operator.upkeep()));
    await Promise.all(operators.map((operator) => operator.upkeep()));
    const [one, two, three] = operators.map((operator) => operator.current());
    expect(two).toEqual(one);
    expect(three).toEqual(one);
    expect(world.authorities()).toEqual(['1']);
    const writes = [world.secrets.writes, world.configMaps.writes];
    for (const operator of operators) await operator.upkeep();
    expect([world.secrets.writes, world.configMaps.writes]).toEqual(writes);
  });

  it.each([
    ['before a rotation', JOINS - HOUR, ['1']],
    ['when a new authority has joined', JOINS, ['1', '2']],
    ['when it issues', JOINS + 3 * HOUR, ['1', '2']],
    ['while leaves of both are active', JOINS + 6 * HOUR, ['1', '2']],
    ['just before the old one goes', JOINS + 13 * HOUR, ['1', '2']],
    ['when the old one is gone', JOINS + 15 * HOUR, ['2']],
  ])('hold %s: also for who has not yet seen what came in the last hour', async (_when, age, authorities) => {
    const world = new World();
    const states: Material[][] = [];
    await world.live(age, () =>
      states.push(['operator', 'router', 'manager'].map((program) => world.mounted(program))),
    );
    expect(world.authorities()).toEqual(authorities);
    const [old = [], current = []] = states.slice(-2);
    for (const [operator, router] of [
      [current[0], current[1]],
      [current[0], old[1]],
      [old[0], current[1]],
    ]) {
      expect(await handshake(operator!, router!, FEED)).toBe('operator router');
    }
    for (const [manager, operator] of [
      [current[2], old[0]],
      [old[2], current[0]],
    ]) {
      expect(await handshake(manager!, operator!, MANAGER)).toBe('manager operator');
    }
  });

  it('reach the listener when another operator has issued them', async () => {
    const world = new World();
    world.clock.time = Date.now() - 9 * HOUR;
    const other = world.operator();
    await world.certificates.upkeep();
    await other.upkeep();
    const notified: string[] = [];
    other.onChange(({ cert }) => notified.push(cert));
    world.clock.time = Date.now();
    await world.certificates.upkeep();
    await other.upkeep();
    expect(notified).toEqual([world.certificates.current().cert]);
    expect(other.current()).toEqual(world.certificates.current());
  });

  it.each([
    ['deleted', (world: World) => world.secrets.remove('wherry-router-tls')],
    [
      'spoiled',
      (world: World) =>
        world.secrets.put('wherry-router-tls', bytes({ 'tls.crt': 'x', 'tls.key': 'y', 'ca.crt': 'z' })),
    ],
    [
      "mixed up with another program's key",
      (world: World) =>
        world.secrets.put(
          'wherry-router-tls',
          bytes({
            'tls.crt': world.mounted('router').cert,
            'tls.key': world.mounted('operator').key,
            'ca.crt': world.mounted('router').ca,
          }),
        ),
    ],
  ])('are issued again when one was %s', async (_what, spoil) => {
    const world = new World();
    await world.live(0);
    spoil(world);
    await world.certificates.upkeep();
    expect(await handshake(world.mounted('operator'), world.mounted('router'), FEED)).toBe('operator router');
  });

  it('refuse to go on with an authority that cannot be read: names the Secret, holds no key', async () => {
    const world = new World();
    await world.live(0);
    world.secrets.put('wherry-internal-ca', bytes({ '1.crt': world.secrets.text('wherry-internal-ca', '1.crt') }));
    await expect(world.certificates.upkeep()).rejects.toThrow(
      'The Secret wherry-system/wherry-internal-ca cannot be read',
    );
  });
});
