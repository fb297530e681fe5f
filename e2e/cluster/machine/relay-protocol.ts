import { once } from 'node:events';
import type { Socket } from 'node:net';

/** The first line on a connection to the relay. */
export type RelayOrder =
  /** Then the connection is one to that address. */
  | { connect: { host: string; port: number } }
  /** Then it listens there for as long as this connection lasts, and leads each one to that Unix socket. */
  | { listen: { host: string; port: number }; socket: string };

/** The first line back. */
export type RelayAnswer = { port: number } | { error: string };

const MAX_LINE_BYTES = 4096;
const NEWLINE = 10;

export function sendLine(socket: Socket, message: RelayOrder | RelayAnswer): void {
  socket.write(`${JSON.stringify(message)}\n`);
}

/** Reads one line and not a byte more. @throws Error when the other side ends before */
export async function readLine<T>(socket: Socket): Promise<T> {
  const line: number[] = [];
  while (line.length < MAX_LINE_BYTES) {
    const byte = (socket.read(1) as Buffer | null)?.[0];
    if (byte === NEWLINE) return JSON.parse(Buffer.from(line).toString()) as T;
    if (byte !== undefined) line.push(byte);
    else if (socket.readableEnded || socket.destroyed) break;
    else await Promise.race([once(socket, 'readable'), once(socket, 'end'), once(socket, 'close')]);
  }
  throw new Error("the relay's connection ended before its line did");
}

/** Joins two connections: forwards data and ends in both directions. When one breaks, so does the other. */
export function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.setNoDelay(true);
    from.on('error', () => reset(to));
    from.on('close', (hadError) => {
      if (hadError || !from.readableEnded) to.destroy();
    });
    from.pipe(to);
  }
}

/** An abrupt end stays one where that can be known. */
export function reset(socket: Socket): void {
  if (socket.remoteFamily === undefined) socket.destroy();
  else socket.resetAndDestroy();
}
