import { systemClock as clock } from '@wherry/service/clock.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { createProgramMetrics } from '@wherry/service/metrics.ts';
import { startOpsListener } from '@wherry/service/ops/ops-listener.ts';
import { STARTING } from '@wherry/service/ops/readiness.ts';
import { runProgram, type RunningProgram } from '@wherry/service/run-program.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { ClusterPorts } from './program/cluster-ports.ts';
import type { RunningOperator } from './program/run-operator.ts';
import { operatorConfig, type OperatorConfig } from './config.ts';

/*
 * The operator as a program in a cluster. Log lines go to standard error.
 */

/** Longer than any step of a normal shutdown; the kubelet kills later. */
const SHUTDOWN_MS = 25_000;

async function start(): Promise<RunningProgram> {
  const config = operatorConfig();
  const logger = createLogger({ name: 'operator', level: config.logLevel });
  const { metrics, registry } = createProgramMetrics();
  let ports: ClusterPorts | undefined = undefined;
  let running: RunningOperator | undefined = undefined;
  // Without a right it waits for ever, or goes on with what it knew.
  const readyz = (): string | undefined => ports?.refusal() ?? (running === undefined ? STARTING : running.readyz());
  const ops = await startOpsListener({
    port: config.ops.port,
    ...(config.ops.host === undefined ? {} : { host: config.ops.host }),
    registry,
    readyz,
    clock,
    logger,
  });
  const { runOperator } = await import('./program/run-operator.ts');
  ports = await clusterPorts(config, logger, metrics);
  running = await runOperator({ config, ports, clock, logger, metrics });
  logger.info(
    { feedPort: running.feedPort, opsPort: ops.port, instance: config.instance },
    'the operator serves the feed',
  );
  return running;
}

/** The Kubernetes client takes long to load: it is loaded only here, and only for a valid configuration. */
async function clusterPorts(config: OperatorConfig, logger: Logger, metrics: Metrics): Promise<ClusterPorts> {
  const [{ connectCluster }, { createBuilderClient }] = await Promise.all([
    import('@wherry/kube/connect-cluster.ts'),
    import('@wherry/builder/socket/builder-client.ts'),
  ]);
  const { kubeconfig, namespace, systemNamespace, name, instance } = config;
  const cluster = await connectCluster({ kubeconfig, namespace, clock, logger });
  const settings = {
    namespace,
    name,
    image: config.runtimeImage,
    imagePullPolicy: config.imagePullPolicy,
    feedAddress: config.feed.address,
    lameDuckSeconds: config.lameDuckSeconds,
  };
  return {
    store: cluster.store(),
    systemSecrets: cluster.systemSecrets(systemNamespace),
    followSystemSecret: (secret) => cluster.followSystemSecret(systemNamespace, secret),
    configMaps: cluster.configMaps(),
    referencedSecrets: cluster.referencedSecrets(),
    events: cluster.events(`${name}-operator`),
    election: cluster.election({
      namespace: systemNamespace,
      name: `${name}-operator`,
      identity: instance,
      metrics,
    }),
    workloads: (options) => cluster.workloads({ settings, ...options }),
    builder: (content) => createBuilderClient({ path: config.builderSocket, content, clock, logger }),
    refusal: () => cluster.refusal(),
    close: () => cluster.close(),
  };
}

// A start only reads and creates objects, so it may be interrupted anywhere.
runProgram({ name: 'wherry operator', start, mayEndWhileStarting: true, stopWithinMs: SHUTDOWN_MS, clock });
