import { loadConfig } from '@wherry/service/config.ts';
import { isFeedAddress } from '@wherry/service/feed/feed-address.ts';
import { trustedProxiesVariable } from '@wherry/service/trusted-networks.ts';
import * as z from 'zod';

const port = (name: string) => z.coerce.number(`${name} must be a port number`).int().min(0).max(65_535);

/** The variables that the router reads: `docs/reference/config.md` lists them, with the same defaults. */
export const routerEnvironment = z.object({
  /** Where calls come in; 0 takes any free port. */
  FUNCTION_PORT: port('FUNCTION_PORT').default(8000),
  /** The address to listen on; all of them when unset. */
  FUNCTION_HOST: z.string().optional(),
  /** Networks whose X-Forwarded-* headers are believed, comma-separated CIDR blocks or addresses. */
  TRUSTED_PROXIES: trustedProxiesVariable,
  /** Equal ports: the manager's Unix socket. */
  WHERRY_MANAGER_SOCKET: z.string().optional(),
  /** Several router processes listen on one port. */
  WHERRY_REUSE_PORT: z.stringbool().default(false),
  /** Seconds that running calls have to finish when the router stops. */
  WHERRY_DRAIN_SECONDS: z.coerce.number().int().min(0).max(3600).default(30),
  /** In a cluster: `host:port` of the operators' feed. Unset: the service that started this process hands it down. */
  WHERRY_FEED_ADDRESS: z.string().refine(isFeedAddress, 'must be host:port').optional(),
  /** In a cluster: holds `tls.crt`, `tls.key` and `ca.crt`, by which router and operators know each other. */
  WHERRY_TLS_DIRECTORY: z.string().optional(),
  /** In a cluster: the pod's name. */
  WHERRY_INSTANCE: z.string().max(253).optional(),
  /** Seconds in which a router still takes calls after SIGTERM, while balancers learn of it. */
  WHERRY_LAME_DUCK_SECONDS: z.coerce.number().min(0).max(600).optional(),
  /** In a cluster: where `/metrics`, `/livez` and `/readyz` are. */
  OPS_PORT: port('OPS_PORT').default(9464),
  /** On one machine: the Unix socket where they are. */
  WHERRY_OPS_SOCKET: z.string().optional(),
  WHERRY_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

/** The router's settings from its environment. */
export type RouterConfig = z.infer<typeof routerEnvironment>;

/** @throws StartError naming each bad variable. */
export function routerConfig(environment: Record<string, string | undefined> = process.env): RouterConfig {
  return loadConfig(routerEnvironment, environment);
}
