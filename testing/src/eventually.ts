const DEADLINE_MS = 15_000;
const PAUSE_MS = 10;

/**
 * Repeats a check until it passes; fails with the check's own last error when it does not in time.
 * @param deadlineMs of a machine that has nothing else to do
 */
export async function eventually(check: () => void | Promise<void>, deadlineMs = DEADLINE_MS): Promise<void> {
  const end = machineTime() + deadlineMs;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (machineTime() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
