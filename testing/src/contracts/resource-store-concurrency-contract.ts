import { isDomainError } from '@wherry/core/errors.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { described, group } from './resource-store-samples.ts';

const MANY = Array.from({ length: 20 }, (_, index) => index);

const codeOf = (error: unknown) => (isDomainError(error) ? error.code : error);

/** Optimistic writes of many callers at once. */
export function concurrencyContract(store: () => ResourceStore): void {
  const outcomes = async <T>(calls: Promise<T>[]) => {
    const results = await Promise.allSettled(calls);
    const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    return { won, lost };
  };

  it('lets exactly one of many creates of a name win', async () => {
    const { won, lost } = await outcomes(MANY.map((index) => store().create(group('team', `by ${index}`))));
    expect(won).toHaveLength(1);
    expect(lost.map(codeOf)).toEqual(MANY.slice(1).map(() => 'conflict'));
    expect(await store().get('KeyGroup', 'team')).toEqual(won[0]);
  });

  it('lets exactly one of many updates from one resourceVersion win', async () => {
    const created = await store().create(group('team'));
    const { won, lost } = await outcomes(MANY.map((index) => store().update(described(created, `by ${index}`))));
    expect(won).toHaveLength(1);
    expect(lost.map(codeOf)).toEqual(MANY.slice(1).map(() => 'conflict'));
    expect(await store().get('KeyGroup', 'team')).toEqual(won[0]);
  });

  it('lets a spec and a status update from one resourceVersion not both win', async () => {
    const created = await store().create(group('team'));
    const { won } = await outcomes([
      store().update(described(created, 'x')),
      store().updateStatus({ ...created, status: { keys: 1 } }),
    ]);
    expect(won).toHaveLength(1);
    expect(await store().get('KeyGroup', 'team')).toEqual(won[0]);
  });

  it('loses no update of callers that read again after a conflict', async () => {
    await store().create(group('team', '0'));
    const increment = async (): Promise<void> => {
      const current = (await store().get('KeyGroup', 'team'))!;
      const next = described(current, String(Number(current.spec.description) + 1));
      await store()
        .update(next)
        .catch(async (error: { code: string }) => {
          expect(error.code).toBe('conflict');
          await increment();
        });
    };
    await Promise.all(MANY.map(increment));
    expect((await store().get('KeyGroup', 'team'))?.spec.description).toBe('20');
  });
}
