import { createHash } from 'node:crypto';
import type { Digest } from './resources/meta.ts';
import type { InstanceTemplate } from './ports/workloads.ts';

/** `<function>-<hash>`: one name for each pair of artifact and template, a DNS label. */
export function workloadName(functionName: string, revision: Digest, template: InstanceTemplate): string {
  const pair = JSON.stringify([functionName, revision, template.memoryMiB, template.cpuMillis]);
  const hash = createHash('sha256').update(pair).digest('hex').slice(0, 10);
  return `${functionName.slice(0, 52).replace(/-+$/, '')}-${hash}`;
}
