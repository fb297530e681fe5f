import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createMetrics } from '@wherry/service/metrics.ts';
import { exposeDisk } from './disk-metrics.ts';

const valueOf = (text: string, name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);

describe('metrics of the disk', () => {
  it('are its size and what is free, and the other metrics are printed where it is gone', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'wherry-disk-'));
    const { metrics, registry } = createMetrics();
    exposeDisk(metrics, directory);
    const text = await registry.metrics();
    const size = valueOf(text, 'wherry_data_disk_size_bytes');
    expect(valueOf(text, 'wherry_data_disk_free_bytes')).toBeGreaterThan(0);
    expect(valueOf(text, 'wherry_data_disk_free_bytes')).toBeLessThanOrEqual(size);
    await rm(directory, { recursive: true });
    expect(valueOf(await registry.metrics(), 'wherry_data_disk_size_bytes')).toBe(0);
  });
});
