import { clientAddress } from './client-address.ts';
import { trustedNetworks } from './trusted-networks.ts';

describe("R10: the caller's address", () => {
  const trusts = trustedNetworks(['10.0.0.0/8', '2001:db8:ffff::/48']);

  it.each([
    ['of a peer that is not trusted is its own', '192.0.2.9', '192.0.2.1', '192.0.2.9'],
    ['is what a trusted proxy says', '10.0.0.1', '192.0.2.1', '192.0.2.1'],
    ['is the nearest that is not trusted', '::ffff:10.0.0.1', '192.0.2.1, 192.0.2.2 ,10.9.9.9', '192.0.2.2'],
    ['is the last that can be read', '10.0.0.1', '192.0.2.1, unknown, 10.2.2.2', '10.2.2.2'],
    ['is the proxy, where it says nothing', '10.0.0.1', '', '10.0.0.1'],
    ['has no port', '10.0.0.1', '192.0.2.1:4711', '192.0.2.1'],
    ['has no port, as IPv6', '10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['has no brackets', '10.0.0.1', '[2001:db8::1]', '2001:db8::1'],
    ['is IPv4 in IPv6, with a port', '10.0.0.1', '[::ffff:192.0.2.1]:80', '192.0.2.1'],
    ['is found behind proxies with ports', '10.0.0.1', '192.0.2.1:1, [2001:db8:ffff::2]:2, 10.1.1.1:3', '192.0.2.1'],
    ['as IPv6 without brackets is all of the entry', '10.0.0.1', '2001:db8::1:80', '2001:db8::1:80'],
    ['is not what only looks like one', '10.0.0.1', '[192.0.2.1:80', '10.0.0.1'],
    ['is no number', '10.0.0.1', '1:80', '10.0.0.1'],
  ])('%s', (_what, peer, forwardedFor, expected) => {
    expect(clientAddress(peer, forwardedFor, trusts)).toBe(expected);
  });
});
