const DEADLINE_MS = 15_000;
/** A tenth of the time that it has waited: what takes long is looked at less often, and what is soon there is seen soon. */
const PAUSE_SHARE = 0.1;
const SHORTEST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 100;

/**
 * Repeats a check until it passes; fails with the check's own last error when it does not in time.
 * @param deadlineMs of a machine that has nothing else to do
 */
export async function eventually(check: () => void | Promise<void>, deadlineMs = DEADLINE_MS): Promise<void> {
  const begun = performance.now();
  const end = machineTime() + deadlineMs;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (machineTime() > end) throw error;
    }
    const pause = Math.max(SHORTEST_PAUSE_MS, PAUSE_SHARE * (performance.now() - begun));
    await new Promise((resolve) => setTimeout(resolve, Math.min(pause, LONGEST_PAUSE_MS)));
  }
}
