import { systemClock as clock } from '@wherry/service/clock.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { createProgramMetrics } from '@wherry/service/metrics.ts';
import { startOpsListener } from '@wherry/service/ops/ops-listener.ts';
import { onStopSignal } from '@wherry/service/on-stop-signal.ts';
import { requireNode24 } from '@wherry/service/require-node.ts';
import { lastWords } from '@wherry/service/start-error.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { ClusterPorts } from './cluster/cluster-ports.ts';
import type { RunningOperator } from './cluster/run-operator.ts';
import { operatorConfig, type OperatorConfig } from './config.ts';

/*
 * The operator as a program in a cluster. Log lines go to standard error.
 */
requireNode24('wherry operator');

/** Longer than any step of a shutdown takes when all is well; the kubelet kills later. */
const SHUTDOWN_MS = 25_000;

let running: RunningOperator | undefined;
let stopping = false;

async function start(): Promise<void> {
  const config = operatorConfig();
  const logger = createLogger({ name: 'operator', level: config.logLevel });
  const { metrics, registry } = createProgramMetrics();
  const readyz = (): string | undefined => (running === undefined ? 'the operator is starting' : running.readyz());
  const ops = await startOpsListener({
    port: config.ops.port,
    ...(config.ops.host === undefined ? {} : { host: config.ops.host }),
    registry,
    readyz,
    clock,
    logger,
  });
  const { runOperator } = await import('./cluster/run-operator.ts');
  const ports = await clusterPorts(config, logger, metrics);
  running = await runOperator({ config, ports, clock, logger, metrics });
  logger.info(
    { feedPort: running.feedPort, opsPort: ops.port, instance: config.instance },
    'the operator serves the feed',
  );
  if (stopping) await end();
}

/** The Kubernetes client takes long to load: only here, and only when the configuration is good. */
async function clusterPorts(config: OperatorConfig, logger: Logger, metrics: Metrics): Promise<ClusterPorts> {
  const [{ connectKube }, { createKubeStore }, { createReferencedSecrets }, { createDeploymentWorkloads }] =
    await Promise.all([
      import('@wherry/kube/client/kube-client.ts'),
      import('@wherry/kube/store/kube-store.ts'),
      import('@wherry/kube/secrets/referenced-secrets.ts'),
      import('@wherry/kube/workloads/deployment-workloads.ts'),
    ]);
  const [
    { createLeaderElection },
    { createEventRecorder },
    { createSystemSecrets, createSystemConfigMaps },
    { createSocketBuilder },
  ] = await Promise.all([
    import('@wherry/kube/lease/leader-election.ts'),
    import('@wherry/kube/events/event-recorder.ts'),
    import('@wherry/kube/system-objects/system-objects.ts'),
    import('@wherry/builder/socket-builder.ts'),
  ]);
  const { namespace, systemNamespace, name } = config;
  const client = await connectKube({ kubeconfig: config.kubeconfig, clock });
  const settings = {
    namespace,
    name,
    image: config.runtimeImage,
    imagePullPolicy: config.imagePullPolicy,
    feedAddress: config.feed.address,
    lameDuckSeconds: config.lameDuckSeconds,
  };
  return {
    store: createKubeStore({ client, namespace, clock, logger }),
    systemSecrets: createSystemSecrets({ client, namespace: systemNamespace }),
    configMaps: createSystemConfigMaps({ client, namespace }),
    referencedSecrets: createReferencedSecrets({ client, namespace, clock, logger }),
    events: createEventRecorder({ client, namespace, component: `${name}-operator`, clock, logger }),
    election: createLeaderElection({
      client,
      namespace: systemNamespace,
      name: `${name}-operator`,
      identity: config.instance,
      clock,
      logger,
      metrics,
    }),
    workloads: (options) => createDeploymentWorkloads({ client, settings, ...options, clock, logger }),
    builder: (content) => createSocketBuilder({ path: config.builderSocket, content, clock, logger }),
    close: () => client.close(),
  };
}

async function end(): Promise<void> {
  clock.after(SHUTDOWN_MS, () => process.exit(1));
  await running?.stop();
  process.exit(0);
}

function onSignal(): void {
  stopping = true;
  if (running !== undefined) end().catch(fail);
  // What is begun of a start is only read and created: it may end anywhere.
  else process.exit(0);
}

function fail(error: unknown): never {
  process.stderr.write(`wherry operator: ${lastWords(error)}\n`);
  process.exit(1);
}

onStopSignal(onSignal);
start().catch(fail);
