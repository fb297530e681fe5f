import { createHmac, type KeyObject } from 'node:crypto';

/**
 * The token by which a runtime knows that a call comes from a router (S2): one for each workload, known only to the
 * routers and to its own instances.
 */
export function invocationToken(invocationKey: KeyObject, workload: string): string {
  return createHmac('sha256', invocationKey).update(`invocation:${workload}`).digest('base64url');
}
