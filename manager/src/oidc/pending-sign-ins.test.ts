import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { PendingSignIns, type PendingSignIn } from './pending-sign-ins.ts';

const begun = (to: string): PendingSignIn => ({
  checks: { expectedState: '', expectedNonce: '', pkceCodeVerifier: '' },
  redirectUri: '',
  to,
});

describe('sign-ins that have begun', () => {
  it('are taken once, by their id', () => {
    const pending = new PendingSignIns(new FakeClock());
    const id = pending.add(begun('/a'), '192.0.2.1');
    expect([pending.take(undefined), pending.take('guess'), pending.take(id)?.to, pending.take(id)]).toEqual([
      undefined,
      undefined,
      '/a',
      undefined,
    ]);
  });

  it('stay when they are found', async () => {
    const clock = new FakeClock();
    const pending = new PendingSignIns(clock);
    const id = pending.add(begun('/a'), '192.0.2.1');
    expect([pending.find(undefined), pending.find('guess'), pending.find(id)?.to, pending.find(id)?.to]).toEqual([
      undefined,
      undefined,
      '/a',
      '/a',
    ]);
    await clock.advance(600_000);
    expect(pending.find(id)).toBeUndefined();
  });

  it('end after ten minutes', async () => {
    const clock = new FakeClock();
    const pending = new PendingSignIns(clock);
    const [early, late] = [pending.add(begun('/early'), '192.0.2.1'), pending.add(begun('/late'), '192.0.2.1')];
    await clock.advance(599_999);
    expect(pending.take(early)?.to).toBe('/early');
    await clock.advance(1);
    pending.add(begun('/new'), '192.0.2.1');
    expect([pending.take(late), pending.count]).toEqual([undefined, 1]);
  });

  it('are bounded: one address cannot end those of another, however many it begins', () => {
    const pending = new PendingSignIns(new FakeClock());
    const other = pending.add(begun('/other'), '192.0.2.2');
    const first = pending.add(begun('/first'), '2001:db8::1');
    const last = Array.from({ length: 1000 }, (_, at) => pending.add(begun('/'), `2001:db8::${at}`)).at(-1);
    expect(pending.count).toBe(201);
    expect([pending.take(first), pending.take(last)?.to, pending.take(other)?.to]).toEqual([undefined, '/', '/other']);
  });

  it('are bounded in all: the oldest of the network that has the most ends', () => {
    const pending = new PendingSignIns(new FakeClock());
    const first = pending.add(begun('/first'), '192.0.2.2');
    const [oldest, next] = [pending.add(begun('/'), '192.0.2.3'), pending.add(begun('/next'), '192.0.2.3')];
    for (let at = 0; at < 9998; at += 1) pending.add(begun('/'), `10.0.${at >> 8}.${at & 255}`);
    expect([pending.count, pending.take(oldest), pending.find(next)?.to]).toEqual([10_000, undefined, '/next']);
    expect(pending.take(first)?.to).toBe('/first');
  });
});
