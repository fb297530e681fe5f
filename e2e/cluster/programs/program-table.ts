import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A program that is built from a Go module here, whose go.mod and go.sum pin all sources by hash. */
export interface GoProgram {
  name: string;
  /** The folder beside this file with go.mod and go.sum. */
  module: string;
  /** The package to build. */
  package: string;
}

/** What the suites need that run only an API server: built first. */
const forApiServer: readonly GoProgram[] = [
  { name: 'etcd', module: 'kubernetes', package: 'go.etcd.io/etcd/server/v3' },
  ...['kube-apiserver', 'kubectl'].map(ofKubernetes),
];

const forCluster: readonly GoProgram[] = [
  ...['kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy', 'kubeadm'].map(ofKubernetes),
  { name: 'helm', module: 'helm', package: 'helm.sh/helm/v3/cmd/helm' },
  { name: 'kubeconform', module: 'kubeconform', package: 'github.com/yannh/kubeconform/cmd/kubeconform' },
  { name: 'coredns', module: 'coredns', package: 'github.com/coredns/coredns' },
  { name: 'pause', module: 'pause', package: '.' },
  { name: 'kind', module: 'kind', package: 'sigs.k8s.io/kind' },
];

/** Checks the workflows of `.github`. */
export const actionlint: GoProgram = {
  name: 'actionlint',
  module: 'actionlint',
  package: 'github.com/rhysd/actionlint/cmd/actionlint',
};

function ofKubernetes(name: string): GoProgram {
  return { name, module: 'kubernetes', package: `k8s.io/kubernetes/cmd/${name}` };
}

/** Which programs a caller waits for. */
export type ProgramSet = 'api-server' | 'cluster';

/** The programs of a set, in the order in which they are built. */
export function programsOf(set: ProgramSet): readonly GoProgram[] {
  return set === 'api-server' ? forApiServer : [...forApiServer, ...forCluster];
}

/** The folder of a module. */
export function moduleFolder(module: string): string {
  return path.join(import.meta.dirname, module);
}

/** What a module is made of: go.mod, go.sum, and its Go code where it has some. */
export function moduleFiles(module: string): string[] {
  const folder = moduleFolder(module);
  return readdirSync(folder)
    .sort()
    .map((file) => path.join(folder, file));
}

/** The version of a Go module that a go.mod here requires, such as `v1.34.4`. */
function pinnedVersion(module: string, required: string): string {
  const text = readFileSync(path.join(moduleFolder(module), 'go.mod'), 'utf8');
  const line = text.split('\n').find((candidate) => candidate.includes(`${required} v`) && !candidate.includes('=>'));
  const version = /\s(v\S+)/.exec(line ?? '')?.[1];
  if (version === undefined) throw new Error(`${module}/go.mod does not require ${required}`);
  return version;
}

/** The version of Kubernetes in the cluster, such as `v1.34.4`. */
export function kubernetesVersion(): string {
  return pinnedVersion('kubernetes', 'k8s.io/kubernetes');
}
