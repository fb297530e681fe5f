import { DomainError } from '@wherry/core/errors.ts';
import type { InternalAnswer } from '@wherry/content/internal-client.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { RemoteKeyLedger } from './remote-key-ledger.ts';

describe('the ledger of the manager, as operators reach it', () => {
  let clock: FakeClock;
  let logger: FakeLogger;
  let isAway: boolean;
  let received: unknown[];
  let ledger: RemoteKeyLedger;
  beforeEach(() => {
    clock = new FakeClock();
    logger = new FakeLogger();
    isAway = false;
    received = [];
    ledger = new RemoteKeyLedger({
      client: {
        async send({ method, path, body }) {
          await Promise.resolve();
          if (isAway) throw new DomainError('unavailable', 'the manager is away');
          received.push([method, path, JSON.parse(body as string)]);
          return { body: { dump: () => Promise.resolve() } } as unknown as InternalAnswer;
        },
      },
      clock,
      logger,
    });
  });

  it('gets the reports of several routers in one request', async () => {
    ledger.used({ a: 1, b: 5 });
    ledger.used({ a: 3, b: 4 });
    await clock.advance(2000);
    expect(received).toEqual([['POST', '/keys/uses', { a: 3, b: 5 }]]);
    await clock.advance(60_000);
    expect(received).toHaveLength(1);
  });

  it('gets what waited when it is back, with one warning in the log', async () => {
    isAway = true;
    ledger.used({ a: 1, b: 1 });
    await clock.advance(60_000);
    ledger.used({ a: 2 });
    isAway = false;
    await clock.advance(20_000);
    expect(received).toEqual([['POST', '/keys/uses', { a: 2, b: 1 }]]);
    expect(logger.of('warn')).toHaveLength(1);
  });

  it('gets the rest when the operator stops, which ends also where the manager is away', async () => {
    ledger.used({ a: 1 });
    await ledger.stop();
    expect(received).toEqual([['POST', '/keys/uses', { a: 1 }]]);
    isAway = true;
    ledger.used({ a: 2 });
    await ledger.stop();
    expect(received).toHaveLength(1);
  });
});
