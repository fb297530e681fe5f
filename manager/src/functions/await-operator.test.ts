import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import { functionSpecSchema } from '@wherry/core/resources/function.ts';
import type { FunctionResource } from '@wherry/core/resources/kinds.ts';
import { createInformer } from '@wherry/service/informer.ts';
import { AwaitOperator } from './await-operator.ts';

const SPEC = functionSpecSchema.parse({ handler: 'app/a.ts', route: '/a', methods: ['GET'] });

describe('AwaitOperator', () => {
  const clock = new FakeClock();
  let store: FakeResourceStore;
  let operator: AwaitOperator;
  let written: FunctionResource;
  let stop: () => Promise<void>;

  beforeEach(async () => {
    store = new FakeResourceStore();
    const functions = createInformer({ store, kind: 'Function', clock, logger: new FakeLogger() });
    await functions.start();
    stop = () => functions.stop();
    operator = new AwaitOperator({ functions, clock, limitMs: 500 });
    written = await store.create({ kind: 'Function', metadata: { name: 'a' }, spec: SPEC });
  });
  afterEach(() => stop());

  it('gives the function as the operator left it, once it has observed the generation', async () => {
    const answer = operator.observed(written);
    await clock.advance(100);
    await store.updateStatus({ ...written, status: { observedGeneration: 1, replicas: 3 } });
    expect((await answer).status.replicas).toBe(3);
  });

  it('does not wait for what is observed already', async () => {
    await store.updateStatus({ ...written, status: { observedGeneration: 1 } });
    await clock.idle();
    expect((await operator.observed(written)).status.observedGeneration).toBe(1);
  });

  it('does not wait for a generation that somebody has replaced', async () => {
    await store.update({ ...written, spec: { ...SPEC, enabled: false } });
    await clock.idle();
    expect((await operator.observed(written)).spec.enabled).toBe(false);
  });

  it('gives what was written when the operator takes longer than the limit', async () => {
    const answer = operator.observed(written);
    await clock.advance(500);
    expect(await answer).toEqual(written);
    expect(clock.pending).toBe(0);
  });
});
