import { mustRun, type Start } from '../command.ts';

const KUBECTL = ['-n', 'kube-system'];
const LIMIT = '--timeout=3m';

/**
 * In a network without access to the outside, nothing resolves external names: CoreDNS answers at once that they do not
 * exist.
 */
const NO_OUTSIDE = '.:53 {\n    template ANY ANY {\n        rcode NXDOMAIN\n    }\n}\n';

/** A block of its own: where both are in one, CoreDNS consults the template first. */
const INSIDE = 'cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {';

/** Waits for cluster DNS. */
export async function untilClusterDnsAnswers(start: Start): Promise<void> {
  await mustRun('kubectl', [...KUBECTL, 'rollout', 'status', 'deployment/coredns', LIMIT], { start });
}

/**
 * Makes CoreDNS answer NXDOMAIN for external names, and restarts it: kind starts it beside kube-proxy, and when its
 * first packet to the API server comes before kube-proxy's rules, it tries in vain for 30 s.
 */
export async function configureClusterDns(start: Start): Promise<void> {
  const kubectl = (args: readonly string[], input?: string): Promise<string> =>
    mustRun('kubectl', [...KUBECTL, ...args], { start, ...(input === undefined ? {} : { input }) });
  const config = JSON.parse(await kubectl(['get', 'configmap', 'coredns', '-o', 'json'])) as {
    data: { Corefile: string };
  };
  const { Corefile } = config.data;
  const inside = Corefile.replace(/^\.:53 \{/, INSIDE).replace(/^ *forward \. [^}]*\}\n/m, '');
  if (!inside.startsWith(INSIDE) || inside.includes('forward'))
    throw new Error(`CoreDNS's configuration is not what kubeadm writes:\n${Corefile}`);
  await kubectl(['replace', '-f', '-'], JSON.stringify({ ...config, data: { Corefile: inside + NO_OUTSIDE } }));
  await kubectl(['rollout', 'status', 'daemonset/kube-proxy', LIMIT]);
  // One is enough for one node.
  await kubectl(['scale', 'deployment/coredns', '--replicas=1']);
  await kubectl(['delete', 'pods', '-l', 'k8s-app=kube-dns', '--now']);
}
