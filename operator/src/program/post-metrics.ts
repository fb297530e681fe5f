import type { InternalClient } from '@wherry/content/internal-client.ts';
import type { MetricsSink } from '@wherry/core/ports/telemetry.ts';

/** Sends metrics of executions to the manager. What cannot be sent stays with the router, which sends it again. */
export function postMetrics(client: Pick<InternalClient, 'send'>): MetricsSink {
  return {
    async record(batch) {
      const answer = await client.send({
        method: 'POST',
        path: '/telemetry/metrics',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(batch),
      });
      await answer.body.dump();
    },
  };
}
