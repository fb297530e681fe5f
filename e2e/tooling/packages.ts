/** A Debian package that the tests need on the machine. */
export interface SystemPackage {
  name: string;
  /** A program that is looked up in PATH, or an absolute path: it is there when the package is. */
  provides: string;
  /** What it has systemd start at each boot, which no test wants. */
  services?: readonly string[];
}

/** What the tests need beyond `npm ci`. Add a line when a suite needs a program. */
export const systemPackages: readonly SystemPackage[] = [
  { name: 'ca-certificates', provides: '/etc/ssl/certs/ca-certificates.crt' },
  // A real browser shows the pages.
  { name: 'chromium', provides: 'chromium' },
  { name: 'curl', provides: 'curl' },
  { name: 'git', provides: 'git' },
  { name: 'openssl', provides: 'openssl' },
  // promtool checks rules, and a real Prometheus scrapes the programs.
  { name: 'prometheus', provides: 'prometheus', services: ['prometheus.service'] },
];

/** What a Kubernetes in namespaces needs, where there is no Docker daemon and no KUBECONFIG. */
export const clusterPackages: readonly SystemPackage[] = [
  { name: 'containerd', provides: 'containerd', services: ['containerd.service'] },
  { name: 'docker.io', provides: 'dockerd', services: ['docker.service', 'docker.socket'] },
  { name: 'iproute2', provides: 'ip' },
  { name: 'iptables', provides: 'iptables' },
  { name: 'mmdebstrap', provides: 'mmdebstrap' },
  { name: 'runc', provides: 'runc' },
  { name: 'util-linux', provides: 'nsenter' },
];
