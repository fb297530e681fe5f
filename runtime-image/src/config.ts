import process from 'node:process';
import { issueMessage } from '@wherry/core/issue-message.ts';
import { isFeedAddress } from '@wherry/service/feed/feed-address.ts';
import { StartError } from '@wherry/service/start-error.ts';
import * as z from 'zod/mini';

/**
 * The variables that an instance reads: `docs/reference/config.md` lists them, with the same defaults.
 * zod/mini, as everywhere in the runtime: full zod costs each instance 13 MiB.
 */
export const runtimeEnvironment = z.object({
  /** How long the artifact's top level may take, in seconds. */
  WHERRY_LOAD_TIMEOUT_SECONDS: z._default(z.coerce.number().check(z.gte(0.1), z.lte(600)), 30),
  /** How long it still takes calls after SIGTERM, in seconds: routers may not know it yet. */
  WHERRY_LAME_DUCK_SECONDS: z._default(z.coerce.number().check(z.gte(0), z.lte(600)), 1),
  TZ: z._default(z.string(), 'UTC'),
  /** In a pod: `host:port` of the operators' feed. Unset: the service that started this process hands it down. */
  WHERRY_FEED_ADDRESS: z.optional(z.string().check(z.refine(isFeedAddress, 'must be host:port'))),
  /** In a pod: holds `token` and `ca.crt`. */
  WHERRY_FEED_DIRECTORY: z._default(z.string(), '/etc/wherry/feed'),
  WHERRY_WORKLOAD: z.optional(z.string()),
  WHERRY_FUNCTION_UID: z.optional(z.string()),
  /** In a pod: its name. */
  WHERRY_INSTANCE: z.optional(z.string()),
  /** In a pod: the port of `/livez` and `/startz`. */
  WHERRY_PROBE_PORT: z._default(z.coerce.number().check(z.int(), z.gte(0), z.lte(65_535)), 8081),
});

/** The configuration of an instance that is a pod. */
export interface PodConfig {
  feedAddress: string;
  feedDirectory: string;
  workload: string;
  functionUid: string;
  instance: string;
  probePort: number;
}

export interface RuntimeConfig {
  loadTimeoutMs: number;
  lameDuckMs: number;
  timeZone: string;
  /** Undefined on one machine. */
  pod: PodConfig | undefined;
}

/** @throws StartError that names the bad variable. */
export function loadRuntimeConfig(environment: Record<string, string | undefined> = process.env): RuntimeConfig {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const result = runtimeEnvironment.safeParse(set);
  if (!result.success)
    return refuse(result.error.issues.map((issue) => `${issue.path.join('.')}: ${issueMessage(issue.message)}`));
  const { data } = result;
  return {
    loadTimeoutMs: data.WHERRY_LOAD_TIMEOUT_SECONDS * 1000,
    lameDuckMs: data.WHERRY_LAME_DUCK_SECONDS * 1000,
    timeZone: data.TZ,
    pod: podConfig(data),
  };
}

function podConfig(data: z.infer<typeof runtimeEnvironment>): PodConfig | undefined {
  const {
    WHERRY_FEED_ADDRESS: feedAddress,
    WHERRY_WORKLOAD: workload,
    WHERRY_FUNCTION_UID: functionUid,
    WHERRY_INSTANCE: instance,
  } = data;
  if (feedAddress === undefined) return undefined;
  if (workload === undefined || functionUid === undefined || instance === undefined) {
    return refuse([
      'WHERRY_WORKLOAD, WHERRY_FUNCTION_UID, WHERRY_INSTANCE: must be set together with WHERRY_FEED_ADDRESS',
    ]);
  }
  const { WHERRY_FEED_DIRECTORY: feedDirectory, WHERRY_PROBE_PORT: probePort } = data;
  return { feedAddress, feedDirectory, workload, functionUid, instance, probePort };
}

function refuse(problems: string[]): never {
  throw new StartError(`The runtime's configuration is not valid: ${problems.join('; ')}`);
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
