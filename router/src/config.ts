import {
  feedAddressVariable,
  hostVariable,
  instanceVariable,
  lameDuckSecondsVariable,
  logLevelVariable,
  pathVariable,
  portVariable,
} from '@wherry/service/config-variables.ts';
import { loadConfig } from '@wherry/service/config.ts';
import { trustedProxiesVariable } from '@wherry/service/trusted-networks.ts';
import * as z from 'zod';

/** The variables that the router reads: `docs/reference/config.md` lists them, with the same defaults. */
export const routerEnvironment = z.object({
  /** Where calls come in; 0 takes any free port. */
  FUNCTION_PORT: portVariable.default(8000),
  /** The address to listen on; all of them when unset. */
  FUNCTION_HOST: hostVariable.optional(),
  /** Networks whose X-Forwarded-* headers are trusted, comma-separated CIDR blocks or addresses. */
  TRUSTED_PROXIES: trustedProxiesVariable,
  /** Equal ports: the manager's Unix socket. */
  WHERRY_MANAGER_SOCKET: pathVariable.optional(),
  /** On one machine: how many sockets of the function port are inherited, as file descriptors from 4 on. */
  WHERRY_FUNCTION_SOCKETS: z.coerce.number().int().min(0).max(2).default(0),
  /** Several router processes listen on one port. */
  WHERRY_REUSE_PORT: z.stringbool().default(false),
  /** Seconds that running calls have to finish when the router stops. */
  WHERRY_DRAIN_SECONDS: z.coerce.number().int().min(0).max(3600).default(30),
  /** In a cluster: `host:port` of the operators' feed. Unset: the service that started this process hands it down. */
  WHERRY_FEED_ADDRESS: feedAddressVariable.optional(),
  /** In a cluster: holds `tls.crt`, `tls.key` and `ca.crt`, by which router and operators know each other. */
  WHERRY_TLS_DIRECTORY: pathVariable.optional(),
  /** In a cluster: the pod's name. */
  WHERRY_INSTANCE: instanceVariable.optional(),
  /** Seconds in which a router still takes calls after SIGTERM, while balancers learn of it. */
  WHERRY_LAME_DUCK_SECONDS: lameDuckSecondsVariable.optional(),
  /** In a cluster: where `/metrics`, `/livez` and `/readyz` are. */
  OPS_PORT: portVariable.default(9464),
  /** On one machine: the Unix socket where they are. */
  WHERRY_OPS_SOCKET: pathVariable.optional(),
  WHERRY_LOG_LEVEL: logLevelVariable.default('info'),
});

/** The router's settings from its environment. */
export type RouterConfig = z.infer<typeof routerEnvironment>;

/** @throws StartError naming each bad variable. */
export function routerConfig(environment: Record<string, string | undefined> = process.env): RouterConfig {
  return loadConfig(routerEnvironment, environment);
}
