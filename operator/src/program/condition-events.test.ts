import type { ObjectEvent } from '@wherry/core/ports/events.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import { TestWorld } from '../testing/test-world.ts';
import { withConditionEvents } from './condition-events.ts';

describe('events of conditions', () => {
  it('are recorded once for each change of a condition: Normal while nothing is wrong, else Warning', async () => {
    const world = new TestWorld();
    const recorded: string[] = [];
    const before = new Map<string, Resource>();
    const events = {
      record: ({ metadata }: Resource, { type, reason, message }: ObjectEvent) =>
        void recorded.push(`${metadata.name} ${type} ${reason}: ${message}`),
    };
    const store = withConditionEvents(world.store, events, (kind: Kind, name) => before.get(`${kind}/${name}`));
    const remember = async (): Promise<void> =>
      void before.set('Function/hello', (await world.store.get('Function', 'hello'))!);
    await world.createFunction('hello');
    const write = async (status: 'True' | 'False', reason: string, message: string): Promise<void> => {
      await remember();
      const fn = await world.fn('hello');
      const condition = (type: string): object => ({
        type,
        status,
        reason,
        message,
        lastTransitionTime: '2026-01-01T00:00:00Z',
        observedGeneration: 1,
      });
      await store.updateStatus<'Function'>({
        ...fn,
        status: { ...fn.status, conditions: [condition('CodeReady'), condition('Ready')] as never },
      });
    };
    await write('False', 'SyntaxError', 'api/main.ts:1:1: no');
    await write('False', 'SyntaxError', 'api/main.ts:2:1: no');
    await write('True', 'Ready', '');
    await write('False', 'Disabled', 'The function is disabled.');
    expect(recorded).toEqual([
      'hello Warning SyntaxError: api/main.ts:1:1: no',
      'hello Normal Ready: Ready is True.',
      'hello Normal Disabled: The function is disabled.',
    ]);
  });

  it('are not recorded for a write that is refused', async () => {
    const world = new TestWorld();
    await world.createFunction('hello');
    const stale = await world.fn('hello');
    await world.edit('Function', 'hello', { description: 'newer' });
    let recorded = 0;
    const store = withConditionEvents(world.store, { record: () => void (recorded += 1) }, () => undefined);
    const conditions = [
      {
        type: 'Ready',
        status: 'True' as const,
        reason: 'Ready',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
        observedGeneration: 1,
      },
    ];
    await expect(store.updateStatus<'Function'>({ ...stale, status: { conditions } })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(recorded).toBe(0);
  });
});
