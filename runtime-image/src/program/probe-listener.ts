import { once } from 'node:events';
import { createServer } from 'node:http';
import { StartError } from '@wherry/service/start-error.ts';

export interface ProbeOptions {
  port: number;
  /** Why it takes no calls now; undefined: it does. */
  whyNotReady: () => string | undefined;
}

/**
 * Answers the kubelet: `/livez` whenever the event loop turns (one that is blocked is restarted for it, S3), `/readyz` once
 * calls are taken. The process does not live for it.
 * @throws StartError where the port cannot be opened.
 */
export async function startProbeListener({ port, whyNotReady }: ProbeOptions): Promise<void> {
  const server = createServer((request, response) => {
    request.resume();
    const problem = request.url === '/livez' ? undefined : request.url === '/readyz' ? whyNotReady() : 'There are /livez and /readyz.';
    response.writeHead(problem === undefined ? 200 : 503, { 'Content-Type': 'text/plain; charset=utf-8' });
    response.end(`${problem ?? 'ok'}\n`);
  });
  server.unref();
  try {
    server.listen({ port });
    await once(server, 'listening');
  } catch (error) {
    throw new StartError(`The probe port ${port} cannot be opened (${(error as NodeJS.ErrnoException).code ?? String(error)}).`);
  }
}
