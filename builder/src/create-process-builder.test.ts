import { builderContract } from '@wherry/core/contracts/builder-contract.ts';
import { FakeContentStore } from '@wherry/core/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/core/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/core/fakes/fake-metrics.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { createProcessBuilder } from './create-process-builder.ts';

describe('createProcessBuilder', () => {
  builderContract(async () => {
    const content = new FakeContentStore({ clock: systemClock });
    const builder = createProcessBuilder({ content, clock: systemClock, logger: new FakeLogger(), metrics: new FakeMetrics() });
    return { builder, content, stop: () => builder.stop() };
  });
});
