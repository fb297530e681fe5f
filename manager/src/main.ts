import type { Metrics } from '@wherry/core/ports/metrics.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { runProgram, type RunningProgram } from '@wherry/service/run-program.ts';
import { managerConfig } from './config.ts';
import type { Cluster } from './program/cluster.ts';
import { startManager } from './program/start-manager.ts';

/*
 * The manager as a program of its own in a cluster. On one machine it is a part of the service (`embedded/`).
 */
async function start(): Promise<RunningProgram> {
  const config = managerConfig();
  const logger = createLogger({ name: 'manager', level: config.logLevel }).child({ instance: config.instance });
  const connect = async (metrics: Metrics): Promise<Cluster> => {
    // Loading the client takes half a second: it is loaded only after the configuration was found valid.
    const { connectCluster } = await import('@wherry/kube/connect-cluster.ts');
    const { kubeconfig, namespace, systemNamespace, name, instance } = config;
    const cluster = await connectCluster({ kubeconfig, namespace, clock, logger });
    return {
      store: cluster.store(),
      objectWrites: cluster.objectWrites(),
      referencedSecrets: cluster.referencedSecrets(),
      systemSecrets: cluster.systemSecrets(systemNamespace),
      encryptionKeys: cluster.followSystemSecret(systemNamespace, `${name}-encryption-keys`),
      election: cluster.election({
        namespace: systemNamespace,
        name: `${name}-manager`,
        identity: instance,
        metrics,
      }),
      close: () => cluster.close(),
    };
  };
  return startManager({ config, connect, clock, logger });
}

runProgram({ name: 'wherry manager', start, clock });
