import type { LockEntry } from './check-lock.ts';
import type { InstallPlan } from './plan-install.ts';

/**
 * Why a source requires more than the install process should take on: that is one process, which all sources share, and
 * what it needs of memory and time grows with these numbers.
 */
export function countProblem(
  { plan: { root }, lock = {} }: { plan: InstallPlan; lock?: Record<string, LockEntry> },
  limits: { packages: number; candidates: number },
): string | undefined {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, overrides = {} } = root;
  const required =
    [dependencies, optionalDependencies, peerDependencies].reduce((sum, field) => sum + Object.keys(field).length, 0) +
    countOverrides(overrides);
  if (required > limits.packages)
    return `The source has ${required} dependencies (all fields of package.json and npm: imports together), but at most ${limits.packages} are allowed. Depend on fewer.`;
  const locked = Object.keys(lock).length;
  if (locked > limits.candidates)
    return `The lock has ${locked} packages, but at most ${limits.candidates} are allowed. Depend on fewer.`;
  return undefined;
}

const countOverrides = (overrides: object): number =>
  Object.values(overrides).reduce<number>(
    (sum, value: unknown) => sum + (typeof value === 'object' && value !== null ? countOverrides(value) : 1),
    0,
  );
