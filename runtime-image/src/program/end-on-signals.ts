import process from 'node:process';

/**
 * SIGTERM drains, however often it comes: an init system signals every process of a service, and the service signals
 * its instances again. The kubelet and the service end an instance that takes too long with SIGKILL.
 * @param flush waits until the other side has what was sent.
 */
export function endOnSignals(drain: () => Promise<void>, flush: () => Promise<void>): void {
  const end = (): void => {
    drain()
      .then(flush)
      .then(
        () => process.exit(0),
        () => process.exit(1),
      );
  };
  process.once('SIGTERM', end);
  process.on('SIGTERM', () => undefined);
  // Ctrl-C reaches the whole group: the service, which gets it too, decides when its instances go.
  process.on('SIGINT', () => undefined);
}
