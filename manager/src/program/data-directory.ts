import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { guardDirectory } from '@wherry/service/directory-guard.ts';
import { StartError } from '@wherry/service/start-error.ts';

interface ManagerData {
  /** Folder of the content store. */
  content: string;
  /** File of the log database. */
  telemetry: string;
  /** File of the database of metrics. */
  metrics: string;
  /** File of the audit records. */
  audit: string;
  /** File of users and sessions. */
  users: string;
  release(): void;
}

/** A stopping manager needs at most this long. */
const WAIT_MS = 60_000;
const RETRY_MS = 500;

/**
 * Takes the volume for this process alone: of two managers on one volume, one would remove what the other has just
 * stored. It waits for one that is still stopping.
 * @throws StartError when the folder cannot be used, or another manager keeps it.
 */
export async function takeDataDirectory({
  directory,
  clock,
  logger,
}: {
  directory: string;
  clock: Clock;
  logger: Logger;
}): Promise<ManagerData> {
  const giveUpAt = clock.monotonic() + WAIT_MS;
  for (let said = false; ; said = true) {
    const guard = await take(directory);
    if (guard !== undefined) {
      const inside = (name: string): string => path.join(directory, name);
      return {
        content: inside('content'),
        telemetry: inside('telemetry.db'),
        metrics: inside('metrics.db'),
        audit: inside('audit.db'),
        users: inside('users.db'),
        release: () => guard.release(),
      };
    }
    if (!said) logger.warn({ directory }, 'another manager is using the data directory: waiting for it to stop');
    if (clock.monotonic() >= giveUpAt)
      throw new StartError(
        `Another manager is using the data directory ${directory}, which only one may use. Stop it, or choose another folder with WHERRY_DATA_DIR`,
      );
    await clock.sleep(RETRY_MS);
  }
}

async function take(directory: string): Promise<{ release(): void } | undefined> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return guardDirectory(path.join(directory, 'wherry.lock.guard'));
  } catch (error) {
    throw new StartError(
      `WHERRY_DATA_DIR: ${directory} cannot be used (${(error as Error).message}): it must be a writable folder on a file system that supports locks`,
      error,
    );
  }
}
