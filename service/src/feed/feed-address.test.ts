import { parseFeedAddress } from './feed-address.ts';

describe('parseFeedAddress', () => {
  it.each([
    ['wherry-feed.wherry-system.svc:9443', 'wherry-feed.wherry-system.svc', 9443],
    ['10.0.0.1:9443', '10.0.0.1', 9443],
    ['[fd00::1]:9443', 'fd00::1', 9443],
  ])('%s', (address, host, port) => {
    expect(parseFeedAddress(address)).toEqual({ host, port });
  });

  it.each(['', 'host', 'host:', 'host:0', 'host:70000', 'a b:1', 'https://host:9443', 'fd00::1:9443'])(
    'refuses %j',
    (address) => {
      expect(() => parseFeedAddress(address)).toThrow('must be host:port');
    },
  );
});
