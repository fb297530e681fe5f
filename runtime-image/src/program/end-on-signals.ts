import process from 'node:process';

/**
 * The first SIGTERM drains; the second ends at once.
 * @param farewell waits until what was sent is with the other side.
 */
export function endOnSignals(drain: () => Promise<void>, farewell: () => Promise<void>): void {
  let told = false;
  const end = (): void => {
    if (told) process.exit(1);
    told = true;
    drain()
      .then(farewell)
      .then(
        () => process.exit(0),
        () => process.exit(1),
      );
  };
  process.on('SIGTERM', end);
  // Ctrl-C reaches the whole group: the service, which gets it too, decides when its instances go.
  process.on('SIGINT', () => undefined);
}
