import type { KubeObject } from '../client/kube-object.ts';
import type { Rule, Serve } from './fault-proxy.ts';

/**
 * Leases that the proxy keeps itself, as a server does: who calls through it is alone with them, so that it leads for
 * as long as it runs, whoever else leads.
 */
export function ownLeases(): Rule {
  const leases = new Map<string, KubeObject>();
  let version = 0;

  const serve: Serve = ({ method, path }, body) => {
    if (body !== undefined) {
      const { metadata, ...rest } = body as KubeObject;
      version += 1;
      const written = { ...rest, metadata: { ...metadata, resourceVersion: String(version) } };
      leases.set(metadata.name, written);
      return { code: method === 'POST' ? 201 : 200, body: written };
    }
    const name = path.split('/').at(-1) ?? '';
    const lease = leases.get(name);
    if (lease !== undefined) return { code: 200, body: lease };
    return {
      code: 404,
      body: {
        kind: 'Status',
        status: 'Failure',
        code: 404,
        reason: 'NotFound',
        message: 'no such lease',
        details: { name },
      },
    };
  };
  return { when: ({ path }) => /\/leases(\/|$)/.test(path), fault: { type: 'serve', serve } };
}
