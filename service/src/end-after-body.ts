import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Ends an answer that may come before its request's body has. Where the connection is to end with the answer
 * (`Connection: close`), Node closes it at once, and a caller that is still sending gets a reset instead of the answer:
 * so the rest of the body is read and thrown away first. How long that may take is the server's to limit.
 * @param bytes the last of the answer; its head has been written.
 */
export function endAfterBody(request: IncomingMessage, response: ServerResponse, bytes?: Uint8Array | string): void {
  if (request.complete || request.destroyed || response.shouldKeepAlive) {
    response.end(bytes);
    return;
  }
  if (bytes === undefined) response.flushHeaders();
  else response.write(bytes);
  const end = (): void => void response.end();
  request.once('end', end);
  request.once('close', end);
  request.resume();
}
