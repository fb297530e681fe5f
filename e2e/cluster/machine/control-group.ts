/** The control group of a cluster's containers, in version 1 of the kernel's interface (a hierarchy for each resource) and 2. */
import { existsSync, globSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';
/**
 * A control group has the share of one process of the machine unless its weight says otherwise, however many processes
 * it holds. A node beside two busy processes would then have a third of the machine for its sixty, and what runs on it
 * would miss its probes.
 */
const PROCESSES_WORTH = 16;
const END_LIMIT_MS = 20_000;
const POLL_MS = 50;

/** Creates the group with a node's share of the processors, before anything is in it. */
export function createControlGroup(name: string): void {
  for (const shares of globSync(`${ROOT}/*/cpu.shares`)) {
    const group = path.join(path.dirname(shares), name);
    mkdirSync(group, { recursive: true });
    writeFileSync(path.join(group, 'cpu.shares'), String(PROCESSES_WORTH * 1024));
  }
  const controllers = path.join(ROOT, 'cgroup.subtree_control');
  if (!existsSync(controllers) || !readFileSync(controllers, 'utf8').split(/\s/).includes('cpu')) return;
  mkdirSync(path.join(ROOT, name), { recursive: true });
  writeFileSync(path.join(ROOT, name, 'cpu.weight'), String(PROCESSES_WORTH * 100));
}

/** Removes a group of processes that is empty, with the groups in it, from all hierarchies. */
export async function removeControlGroup(name: string): Promise<void> {
  const pattern = `${ROOT}/{${name},*/${name}}`;
  const end = performance.now() + END_LIMIT_MS;
  for (;;) {
    const groups = globSync([pattern, `${pattern}/**/`]).sort((a, b) => b.length - a.length);
    const kept = groups.filter((group) => !isRemoved(group));
    if (kept.length === 0) return;
    if (performance.now() > end) throw new Error(`These control groups cannot be removed: ${kept.join(', ')}`);
    await delay(POLL_MS);
  }
}

function isRemoved(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
