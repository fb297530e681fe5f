import { statfsSync, type StatsFs } from 'node:fs';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';

/** Exposes how large the disk of this folder is, and how much of it is free, at each scrape. */
export function exposeDisk(metrics: Metrics, directory: string): void {
  const read = (measure: (disk: StatsFs) => number) => (): [Record<string, string>, number][] => {
    try {
      return [[{}, measure(statfsSync(directory))]];
    } catch {
      // A disk that is gone has no space; all other metrics are still printed.
      return [];
    }
  };
  metrics.gauge(METRICS.dataDiskSize).observe(read(({ blocks, bsize }) => blocks * bsize));
  // Without what is reserved for root.
  metrics.gauge(METRICS.dataDiskFree).observe(read(({ bavail, bsize }) => bavail * bsize));
}
