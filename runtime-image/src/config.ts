import process from 'node:process';
import { StartError } from '@wherry/service/start-error.ts';
import * as z from 'zod/mini';

/**
 * The variables that an instance reads: `docs/reference/config.md` lists them, with the same defaults.
 * zod/mini, as everywhere in the runtime: full zod costs each instance 13 MiB.
 */
export const runtimeEnvironment = z.object({
  /** How long the artifact's top level may take, in seconds. */
  WHERRY_LOAD_TIMEOUT_SECONDS: z._default(z.coerce.number().check(z.gte(0.1), z.lte(600)), 30),
  TZ: z._default(z.string(), 'UTC'),
});

export interface RuntimeConfig {
  loadTimeoutMs: number;
  timeZone: string;
}

/** @throws StartError that names the bad variable. */
export function loadRuntimeConfig(environment: Record<string, string | undefined> = process.env): RuntimeConfig {
  const result = runtimeEnvironment.safeParse(environment);
  if (!result.success) {
    const problems = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new StartError(`The runtime's configuration is not valid: ${problems.join('; ')}`);
  }
  return { loadTimeoutMs: result.data.WHERRY_LOAD_TIMEOUT_SECONDS * 1000, timeZone: result.data.TZ };
}

/** Leaves in `process.env` what the handler contract lists, and nothing of the platform's (S1). */
export function giveHandlerEnvironment(handler: { timeZone: string; functionId: string; revision: string }): void {
  // TMPDIR is the one folder that an instance may write, where it is not /tmp itself.
  for (const name of Object.keys(process.env)) if (name !== 'TZ' && name !== 'TMPDIR') delete process.env[name];
  if (process.env.TZ !== handler.timeZone) process.env.TZ = handler.timeZone;
  process.env.NODE_ENV = 'production';
  process.env.WHERRY_FUNCTION = handler.functionId;
  process.env.WHERRY_REVISION = handler.revision;
}
