import { once } from 'node:events';
import type { Start } from '../command.ts';
import type { Forward } from './forward.ts';

const START_LIMIT_MS = 30_000;

/**
 * `kubectl port-forward`, for clusters whose addresses lead nowhere from here. It stays with one pod of the Service.
 */
export async function portForward(
  start: Start,
  service: { namespace: string; name: string; port: number },
): Promise<Forward> {
  const { namespace, name, port } = service;
  const child = start('kubectl', ['port-forward', '-n', namespace, `service/${name}`, `:${port}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), START_LIMIT_MS);
  let said = '';
  const found = new Promise<number>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        const local = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(said)?.[1];
        if (local !== undefined) resolve(Number(local));
      });
    }
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`kubectl port-forward to ${namespace}/${name} ended: ${said.trim()}`)));
  });
  const local = await found.finally(() => clearTimeout(timer));
  return {
    port: local,
    url: `http://127.0.0.1:${local}`,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
