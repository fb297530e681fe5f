import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { createManagementServer } from '@wherry/manager/http/management-server.ts';
import { drainServer } from '@wherry/service/drain-server.ts';
import { holdPort } from '@wherry/service/hold-port.ts';
import { listenOnSockets, type Listening } from '@wherry/service/listen-on-sockets.ts';
import { listenOrFail } from '@wherry/service/listen-or-fail.ts';
import { refuseWhileStopping } from './refuse-while-stopping.ts';

/** Running requests get this long to finish when the service stops. */
const DRAIN_MS = 10_000;

/** Where the manager listens: a Unix socket that only the router uses, or a port. */
type ManagerAddress = string | { host: string; port: number };

interface ListenManagerOptions {
  clock: Clock;
  trustedProxies: readonly string[];
}

/** The management port: it is the service's own before the first instance starts, and until the last one is gone. */
export interface ManagementListener {
  /** Undefined for a socket. */
  readonly port: number | undefined;
  /** Answers requests, and those that have come before: the manager knows the keys only now. */
  serve(listener: RequestListener): void;
  /** Lets running requests finish, and refuses others. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** @throws StartError for a port that is in use or may not be opened. */
export async function listenManager(
  address: ManagerAddress,
  { clock, trustedProxies }: ListenManagerOptions,
): Promise<ManagementListener> {
  const served = Promise.withResolvers<RequestListener>();
  const refuse = refuseWhileStopping('unavailable');
  const running = new Set<ServerResponse>();
  let isServed = false;
  let drained: PromiseWithResolvers<undefined> | undefined;
  const server = createManagementServer(
    (request, response) => {
      if (drained !== undefined) return refuse(request, response);
      running.add(response);
      response.once('close', () => {
        running.delete(response);
        if (running.size === 0) drained?.resolve(undefined);
      });
      void served.promise.then((listener) => listener(request, response));
    },
    { trustedProxies },
  );
  const { port, acceptors } = await listen(server, address);
  return {
    port: typeof address === 'string' ? undefined : port,
    serve(listener) {
      isServed = true;
      served.resolve(listener);
    },
    async drain() {
      drained = Promise.withResolvers();
      const cancelBound = clock.after(DRAIN_MS, () => server.closeAllConnections());
      // Those that wait for a start that failed have no answer to wait for.
      if (!isServed) server.closeAllConnections();
      if (running.size > 0) await drained.promise;
      cancelBound();
    },
    close: () => drainServer(server, { clock, boundMs: 0, acceptors }),
  };
}

async function listen(server: Server, address: ManagerAddress): Promise<Listening> {
  const [setting, hostSetting] = ['MANAGEMENT_PORT', 'MANAGEMENT_HOST'];
  if (typeof address === 'string')
    return { port: await listenOrFail(server, { path: address, mode: 0o600 }, 'TMPDIR'), acceptors: [] };
  const { sockets } = await holdPort(address, setting, hostSetting);
  return listenOnSockets(server, sockets, { address, setting, hostSetting });
}
