import { systemClock } from '@wherry/service/clock.ts';
import { loadRuntimeConfig } from '../config.ts';
import { runBesideService } from '../program/run-beside-service.ts';

/** On its clock a minute is over after 60 ms; only what blocks its event loop has the whole minute. */
await runBesideService(loadRuntimeConfig(), {
  ...systemClock,
  after: (ms, callback) => systemClock.after(ms / 1000, callback),
});
