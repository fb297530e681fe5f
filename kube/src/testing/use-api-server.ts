import { systemClock } from '@wherry/service/clock.ts';
import { connectKube, type KubeClient } from '../client/kube-client.ts';
import { startApiServer, type ApiServer } from './api-server.ts';

const START_LIMIT_MS = 120_000;

/** Both are there in a test and in every hook that is registered later. */
interface UsedApiServer {
  readonly server: ApiServer;
  /** Its user may do everything. */
  readonly client: KubeClient;
}

/** An API server for the tests of a file, from before the first of them until after the last. */
export function useApiServer(): UsedApiServer {
  let server: ApiServer;
  let client: KubeClient;
  beforeAll(async () => {
    server = await startApiServer();
    client = await connectKube({ kubeconfig: server.kubeconfig, clock: systemClock });
  }, START_LIMIT_MS);
  afterAll(async () => {
    await client.close();
    await server.stop();
  });
  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
  };
}
