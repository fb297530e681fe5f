import { systemClock as clock } from '@wherry/service/clock.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { onStopSignal } from '@wherry/service/on-stop-signal.ts';
import { requireNode24 } from '@wherry/service/require-node.ts';
import { lastWords } from '@wherry/service/start-error.ts';
import { managerConfig } from './config.ts';
import { startManager, type Cluster } from './program/start-manager.ts';

/*
 * The manager as a program of its own in a cluster. On one machine it is a part of the service (`embedded/`).
 */
requireNode24('wherry manager');

async function main(): Promise<void> {
  // Before the start: who is asked to stop meanwhile stops after it.
  const asked = Promise.withResolvers<undefined>();
  onStopSignal(() => asked.resolve(undefined));
  const config = managerConfig();
  const logger = createLogger({ name: 'manager', level: config.logLevel }).child(
    config.instance === undefined ? {} : { instance: config.instance },
  );
  const connect = async (): Promise<Cluster> => {
    // Loading the client takes half a second: it is loaded for a configuration that was found good.
    const { connectKube } = await import('@wherry/kube/client/kube-client.ts');
    const { createKubeStore } = await import('@wherry/kube/store/kube-store.ts');
    const { createReferencedSecrets } = await import('@wherry/kube/secrets/referenced-secrets.ts');
    const client = await connectKube({ kubeconfig: config.kubeconfig, clock });
    const { namespace } = config;
    return {
      store: createKubeStore({ client, namespace, clock, logger }),
      referencedSecrets: createReferencedSecrets({ client, namespace, clock, logger }),
      close: () => client.close(),
    };
  };
  const manager = await startManager({ config, connect, clock, logger });
  await asked.promise;
  await manager.stop();
  process.exit(0);
}

main().catch((error: unknown) => {
  process.stderr.write(`manager: ${lastWords(error)}\n`);
  process.exit(1);
});
