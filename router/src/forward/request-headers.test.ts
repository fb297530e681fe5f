import type { IncomingMessage } from 'node:http';
import { Harness, routerFunction } from '../testing/harness.ts';
import { trustedNetworks } from '@wherry/service/trusted-networks.ts';
import { readPeer } from '../headers/peer.ts';

describe('request headers', () => {
  let harness: Harness;

  beforeEach(async () => {
    harness = await Harness.start();
  });
  afterEach(() => harness.stop());

  async function received(headers: Record<string, string | string[]>): Promise<string[]> {
    let raw: string[] = [];
    const instance = await harness.instance((req, res) => {
      raw = req.rawHeaders;
      res.end();
    });
    await harness.serve([routerFunction({ instances: [instance] })]);
    await harness.call('/run/hello', { headers });
    return raw;
  }
  const named = (raw: string[], name: string): string[] =>
    raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name);

  it("R4: those of this hop and those named in Connection go, but never the router's own", async () => {
    const raw = await received({
      Connection: 'close, X-Drop, X-Wherry-Token, X-Wherry-Context, X-Forwarded-For, Host',
      'X-Drop': '1',
      TE: 'trailers',
      'Proxy-Connection': 'x',
      'Keep-Alive': '1',
      'Proxy-Authorization': 'x',
      'X-Keep': '1',
      Upgrade: 'h2c',
    });
    const names = raw.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(names.sort()).toEqual([
      'connection',
      'host',
      'x-forwarded-for',
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-keep',
      'x-wherry-context',
      'x-wherry-token',
    ]);
  });

  it('R5: what a caller says about itself and about Wherry is dropped', async () => {
    const raw = await received({
      'X-Wherry-Token': 'forged',
      'X-Wherry-Context': 'forged',
      'X-WHERRY-Anything': '1',
      Forwarded: 'for=1.2.3.4',
      'X-Forwarded-For': '1.2.3.4',
      'X-Forwarded-Proto': 'https',
      'X-Forwarded-Host': 'evil',
      'X-Forwarded-Prefix': '/x',
      'X-Request-Id': 'mine',
    });
    expect(named(raw, 'x-forwarded-for')).toEqual(['127.0.0.1']);
    expect(named(raw, 'x-forwarded-proto')).toEqual(['http']);
    expect(named(raw, 'x-forwarded-host')).toEqual([`127.0.0.1:${harness.port}`]);
    for (const name of ['forwarded', 'x-forwarded-prefix', 'x-wherry-anything']) expect(named(raw, name)).toEqual([]);
    expect(named(raw, 'x-wherry-token')).toHaveLength(1);
    expect(named(raw, 'x-wherry-token')).not.toEqual(['forged']);
  });

  it('R5: a trusted proxy is believed, and its UUID kept', async () => {
    const trusting = await Harness.start({ trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] });
    let seen: IncomingMessage | undefined;
    const instance = await trusting.instance((req, res) => {
      seen = req;
      res.end();
    });
    await trusting.serve([routerFunction({ instances: [instance] })]);
    const id = '0192f0c1-2345-7abc-8def-0123456789ab';
    const headers = {
      'X-Forwarded-For': '6.6.6.6, 192.0.2.7, 10.1.1.1',
      'X-Forwarded-Proto': 'https',
      'X-Forwarded-Host': 'shop.example',
      'X-Request-Id': id,
    };
    const answer = await trusting.call('/run/hello', { headers });
    expect(answer.headers['x-request-id']).toBe(id);
    expect(seen?.headers).toMatchObject({
      'x-forwarded-for': '6.6.6.6, 192.0.2.7, 10.1.1.1, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'shop.example',
    });
    const other = await trusting.call('/run/hello', { headers: { 'X-Request-Id': 'not a uuid' } });
    expect(other.headers['x-request-id']).not.toBe('not a uuid');
    const ofEnvoy = '0b19119b-01c4-97ba-ab69-621fcea74b4d';
    expect((await trusting.call('/run/hello', { headers: { 'X-Request-Id': ofEnvoy } })).headers['x-request-id']).toBe(
      ofEnvoy,
    );
    const twice = await trusting.call('/run/hello', { headers: { 'X-Request-Id': [id, ofEnvoy] } });
    expect([id, ofEnvoy]).not.toContain(twice.headers['x-request-id']);
    await trusting.stop();
  });

  it('R6: the cookie of a session on the management port reaches no function, beside others and alone', async () => {
    const beside = 'a=1; wherry_session=secret; b=2;c=wherry_session; wherry_session = secret;my_wherry_session=5; e';
    expect(named(await received({ Cookie: beside }), 'cookie')).toEqual([
      'a=1; b=2;c=wherry_session;my_wherry_session=5; e',
    ]);
    for (const alone of [
      'wherry_session=secret',
      '__Host-wherry_session=secret; wherry_session=secret',
      '__Host-wherry_oidc=x',
    ])
      expect((await received({ Cookie: alone })).join().toLowerCase()).not.toMatch(/cookie|secret/);
  });

  it('duplicates and spelling stay', async () => {
    const raw = await received({ Cookie: ['a=1', 'b=2'], 'x-Odd-CASE': ['1', '2'] });
    expect(named(raw, 'x-odd-case')).toEqual(['1', '2']);
    expect(raw).toContain('x-Odd-CASE');
  });
});

describe('readPeer', () => {
  const trusts = trustedNetworks(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1']);
  it.each([
    ['203.0.113.5', ['X-Forwarded-For', '1.1.1.1'], '203.0.113.5'],
    ['::ffff:203.0.113.5', [], '203.0.113.5'],
    ['10.1.2.3', ['X-Forwarded-For', '1.1.1.1, 2.2.2.2'], '2.2.2.2'],
    ['::ffff:10.1.2.3', ['X-Forwarded-For', '1.1.1.1', 'x-forwarded-for', '2.2.2.2, 192.0.2.1'], '2.2.2.2'],
    ['2001:db8::9', ['X-Forwarded-For', '1.1.1.1, garbage'], '2001:db8::9'],
    ['10.1.2.3', ['X-Forwarded-For', '::ffff:0102:304, ::ffff:a01:203'], '1.2.3.4'],
    ['10.1.2.3', ['X-Forwarded-For', '2001:db8::ffff:102:304'], '2001:db8::ffff:102:304'],
    ['10.1.2.3', ['X-Forwarded-For', '0:ffff:102:304'], '10.1.2.3'],
    ['10.1.2.3', [], '10.1.2.3'],
    ['10.1.2.3', ['X-Forwarded-For', '10.9.9.9'], '10.9.9.9'],
  ])('reads the client behind %s with %j as %s', (remote, rawHeaders, client) => {
    expect(readPeer(remote, rawHeaders, trusts).client).toBe(client);
  });

  it.each(['10.0.0.0/33', '10.0.0/8', 'example.test', '10.0.0.0/', '::/129', '10.0.0.0/8/8', '10.0.0.0/x'])(
    'refuses the network %s by name',
    (network) => {
      expect(() => trustedNetworks([network])).toThrow(network);
    },
  );
});
