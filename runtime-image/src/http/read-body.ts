import type { IncomingMessage } from 'node:http';

/** Whether the request carries a body at all. */
export function hasBody(incoming: IncomingMessage): boolean {
  const length = incoming.headers['content-length'];
  return incoming.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** The whole body. Rejects when the caller disconnects before its end. */
export function readBody(incoming: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.once('end', () =>
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
    );
    incoming.once('error', reject);
    // Without 'end' before it: the connection broke off.
    incoming.once('close', () => reject(callerGone()));
  });
}

/** The body as a web stream: what the handler does not read stays with the caller. */
export function bodyStream(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const onError = (error: Error): void => controllerOf.current?.error(error);
  const controllerOf: { current?: ReadableStreamDefaultController<Uint8Array> } = {};
  const onData = (chunk: Buffer): void => {
    controllerOf.current?.enqueue(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if ((controllerOf.current?.desiredSize ?? 0) <= 0) incoming.pause();
  };
  const finish = (how: (controller: ReadableStreamDefaultController<Uint8Array>) => void) => (): void => {
    const controller = controllerOf.current;
    delete controllerOf.current;
    if (controller !== undefined) how(controller);
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controllerOf.current = controller;
        incoming.on('data', onData).pause();
        incoming.once(
          'end',
          finish((open) => open.close()),
        );
        incoming.once('error', onError);
        incoming.once(
          'close',
          finish((open) => open.error(callerGone())),
        );
      },
      pull: () => void incoming.resume(),
      cancel() {
        delete controllerOf.current;
        // Node reads and forgets the rest, so that the connection can be used again.
        incoming.off('data', onData).resume();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 }),
  );
}

const callerGone = (): Error => new Error('The caller disconnected before its request was complete.');
