import { createServer, type ServerResponse } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { listenOrFail } from '@wherry/service/listen-or-fail.ts';

/** How long a probe is kept waiting for the code to load: the kubelet waits five seconds. */
const HOLD_MS = 4000;

interface ProbeOptions {
  port: number;
  /** Resolves when the code is loaded. */
  loaded: Promise<void>;
  /** The kubelet knows that it is: from now on it watches whether the event loop is running. */
  onStarted: () => void;
  clock: Clock;
}

/**
 * Answers the kubelet: `/startz` once the code is loaded, and at that very moment if the kubelet already waits;
 * `/livez` whenever the event loop is running (a blocked one is restarted, S3). The listener does not keep the process
 * alive.
 * @throws StartError where the port cannot be opened.
 */
export async function startProbeListener({ port, loaded, onStarted, clock }: ProbeOptions): Promise<void> {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/livez') answer(response, 200, 'ok');
    else if (request.url === '/startz') void answerStart(response);
    else answer(response, 404, 'Not found. There are /livez and /startz.');
  });

  async function answerStart(response: ServerResponse): Promise<void> {
    const late = Promise.withResolvers<false>();
    const cancel = clock.after(HOLD_MS, () => late.resolve(false));
    const isLoaded = await Promise.race([loaded.then(() => true), late.promise]);
    cancel();
    if (!isLoaded) return answer(response, 503, 'The code of the function is not loaded yet.');
    response.once('finish', onStarted);
    answer(response, 200, 'ok');
  }

  server.unref();
  await listenOrFail(server, { port }, 'WHERRY_PROBE_PORT');
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' });
  response.end(`${text}\n`);
}
