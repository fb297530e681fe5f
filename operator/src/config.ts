import { hostname } from 'node:os';
import {
  feedAddressVariable,
  functionUrlVariable,
  hostVariable,
  instanceVariable,
  lameDuckSecondsVariable,
  logLevelVariable,
  namespaceVariable,
  pathVariable,
  portVariable,
  releaseNameVariable,
  type LogLevel,
} from '@wherry/service/config-variables.ts';
import { loadConfig } from '@wherry/service/config.ts';
import { z } from 'zod';

/**
 * The variables that the operator reads as a program: `docs/reference/config.md` lists them, with the same defaults.
 */
export const operatorEnvironment = z.object({
  WHERRY_NAMESPACE: namespaceVariable.default('wherry-functions'),
  WHERRY_SYSTEM_NAMESPACE: namespaceVariable.default('wherry-system'),
  WHERRY_NAME: releaseNameVariable.default('wherry'),
  WHERRY_FUNCTION_URL: functionUrlVariable,
  WHERRY_RUNTIME_IMAGE: z.string('must name the image of function pods').min(1).max(1024),
  WHERRY_RUNTIME_IMAGE_PULL_POLICY: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  WHERRY_FEED_PORT: portVariable.default(9443),
  WHERRY_FEED_HOST: hostVariable.optional(),
  WHERRY_FEED_ADDRESS: feedAddressVariable.optional(),
  WHERRY_MANAGER_INTERNAL_URL: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
  WHERRY_BUILDER_SOCKET: pathVariable.default('/run/wherry/builder.sock'),
  WHERRY_CACHE_DIR: pathVariable.default('/var/cache/wherry'),
  WHERRY_CACHE_MIB: z.coerce.number('must be a number of MiB').min(1).max(1_048_576).default(1024),
  WHERRY_LAME_DUCK_SECONDS: lameDuckSecondsVariable.default(5),
  OPS_PORT: portVariable.default(9464),
  OPS_HOST: hostVariable.optional(),
  WHERRY_INSTANCE: instanceVariable.optional(),
  WHERRY_LOG_LEVEL: logLevelVariable.default('info'),
  KUBECONFIG: pathVariable.optional(),
});

/** The configuration of the operator as a program in a cluster. */
export interface OperatorConfig {
  /** Of the objects and of what runs. */
  namespace: string;
  systemNamespace: string;
  /** Prefix of the release's objects. */
  name: string;
  /** Where callers reach the function port, without a trailing slash. */
  functionUrl: string;
  runtimeImage: string;
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** Where the feed listens; `address` (`host:port`) is what function pods get. */
  feed: { port: number; host: string | undefined; address: string };
  /** Base of the manager's internal listener. */
  managerUrl: string;
  builderSocket: string;
  cache: { directory: string; maxBytes: number };
  lameDuckSeconds: number;
  ops: { port: number; host: string | undefined };
  /** Which replica it is. */
  instance: string;
  logLevel: LogLevel;
  /** Undefined: the pod's own service account. */
  kubeconfig: string | undefined;
}

/** @throws StartError that names each bad variable. */
export function operatorConfig(environment: Record<string, string | undefined> = process.env): OperatorConfig {
  const set = loadConfig(operatorEnvironment, environment);
  const service = (part: string): string => `${set.WHERRY_NAME}-${part}.${set.WHERRY_SYSTEM_NAMESPACE}.svc`;
  return {
    namespace: set.WHERRY_NAMESPACE,
    systemNamespace: set.WHERRY_SYSTEM_NAMESPACE,
    name: set.WHERRY_NAME,
    functionUrl: set.WHERRY_FUNCTION_URL,
    runtimeImage: set.WHERRY_RUNTIME_IMAGE,
    imagePullPolicy: set.WHERRY_RUNTIME_IMAGE_PULL_POLICY,
    feed: {
      port: set.WHERRY_FEED_PORT,
      host: set.WHERRY_FEED_HOST,
      address: set.WHERRY_FEED_ADDRESS ?? `${service('feed')}:9443`,
    },
    managerUrl: set.WHERRY_MANAGER_INTERNAL_URL ?? `https://${service('manager')}:9444`,
    builderSocket: set.WHERRY_BUILDER_SOCKET,
    cache: { directory: set.WHERRY_CACHE_DIR, maxBytes: set.WHERRY_CACHE_MIB * 1024 * 1024 },
    lameDuckSeconds: set.WHERRY_LAME_DUCK_SECONDS,
    ops: { port: set.OPS_PORT, host: set.OPS_HOST },
    instance: set.WHERRY_INSTANCE ?? hostname(),
    logLevel: set.WHERRY_LOG_LEVEL,
    kubeconfig: set.KUBECONFIG,
  };
}
