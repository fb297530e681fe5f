import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { RingStorage } from '@wherry/service/keys/ring-storage.ts';
import { keyState, runningRotation, type Counts } from '@wherry/service/keys/ring-transitions.ts';

/** What an alert needs to see a rotation that is stuck, one that left values behind, and a key that is too old. */
export function observeRotation(metrics: Metrics, ring: Pick<RingStorage, 'ring'>, counts: () => Counts): void {
  metrics.gauge(METRICS.rotationInProgress).observe(() => [[{}, runningRotation(ring.ring()) === undefined ? 0 : 1]]);
  metrics.gauge(METRICS.rotationValues).observe(() => {
    const { processed, total, failed } = counts();
    return [
      [{ state: 'processed' }, processed],
      [{ state: 'waiting' }, total - processed - failed],
      [{ state: 'failed' }, failed],
    ];
  });
  metrics.gauge(METRICS.encryptionKeyCreated).observe(() => {
    const state = ring.ring();
    return state.keys
      .filter((key) => keyState(state, key) === 'active')
      .map(({ createdAt }) => [{}, Date.parse(createdAt) / 1000] as const);
  });
}
