import { existsSync, globSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, rm, symlink, writeFile, appendFile } from 'node:fs/promises';
import path from 'node:path';
import { mustRun } from '../command.ts';

/**
 * The Debian packages that kind's node needs: the list of kind's images/base/Dockerfile, and what that builds from
 * source.
 */
const DEBIAN_PACKAGES = [
  'systemd',
  'systemd-sysv',
  'conntrack',
  'iptables',
  'nftables',
  'iproute2',
  'ethtool',
  'util-linux',
  'mount',
  'kmod',
  'libseccomp2',
  'bash',
  'ca-certificates',
  'curl',
  'jq',
  'procps',
  'containerd',
  'runc',
  'containernetworking-plugins',
];

/** Files that are not needed would only make the image larger. */
const LEFT_OUT = ['/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*'];

/** Instead of kind's own network: its agent is not available here, and one node needs no routes between nodes. */
const POD_NETWORK = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: '10.244.0.0/24' }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

/** kind applies a manifest as "the network": ours has nothing to apply. */
const NETWORK_MANIFEST = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bridge-cni, namespace: kube-system}\n';

/** A class that provisions nothing: volumes are made by hand. */
const STORAGE_MANIFEST = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
`;

/** "kind export logs" requires this much of crictl, which has no place on the Go module proxy. */
const CRICTL = '#!/bin/sh\n[ "$1" = images ] && exec ctr -n k8s.io images ls\nexit 1\n';

/** Debian's release on this machine, such as `bookworm`: the node gets the same. @throws Error on another system */
export function debianRelease(): string {
  const text = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const release = /^VERSION_CODENAME=(\S+)$/m.exec(text)?.[1];
  if (/^ID=debian$/m.test(text) && release !== undefined && existsSync('/usr/bin/mmdebstrap')) return release;
  throw new Error(
    "Without a Docker daemon the cluster's node is made from Debian's packages, and this is no Debian with mmdebstrap: " +
      'start Docker, or name a cluster of yours in KUBECONFIG.',
  );
}

/**
 * Makes the file system of kind's node but for the images of its pods: what kind's images/base/Dockerfile and
 * `kind build node-image` do, with Debian's containerd and our Kubernetes programs.
 * @param root the folder to make it in
 * @param kindFiles kind's images/base/files
 */
export async function makeNodeFileSystem(
  root: string,
  options: { kindFiles: string; programs: string; version: string },
): Promise<void> {
  await bootstrapDebian(root);
  await copyKindFiles(root, options.kindFiles);
  await tameSystemd(root);
  await setUpContainers(root);
  await mkdir(path.join(root, 'kind/manifests'), { recursive: true });
  await mkdir(path.join(root, 'etc/kubernetes/manifests'), { recursive: true });
  await writeFile(path.join(root, 'kind/manifests/default-cni.yaml'), NETWORK_MANIFEST);
  await writeFile(path.join(root, 'kind/manifests/default-storage.yaml'), STORAGE_MANIFEST);
  await writeFile(path.join(root, 'kind/version'), options.version);
  for (const program of ['kubeadm', 'kubelet', 'kubectl']) {
    await copyFile(path.join(options.programs, program), path.join(root, 'usr/bin', program));
  }
}

async function bootstrapDebian(root: string): Promise<void> {
  // The machine's own sources: where it gets packages, so can we.
  const sources = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list']
    .filter((file) => existsSync(file))
    .slice(0, 1);
  await mustRun('mmdebstrap', [
    '--quiet',
    '--variant=minbase',
    '--aptopt=APT::Install-Recommends "false"',
    '--aptopt=Acquire::Languages "none"',
    ...LEFT_OUT.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
    `--include=${DEBIAN_PACKAGES.join(',')}`,
    debianRelease(),
    root,
    ...sources,
  ]);
}

async function copyKindFiles(root: string, kindFiles: string): Promise<void> {
  for (const file of globSync('{usr,kind,etc}/**/*', { cwd: kindFiles, withFileTypes: true })) {
    const relative = path.relative(kindFiles, path.join(file.parentPath, file.name));
    if (!file.isFile() || relative === 'etc/crictl.yaml' || relative.includes('fuse-overlayfs')) continue;
    const target = path.join(root, relative);
    await mkdir(path.dirname(target), { recursive: true });
    await copyFile(path.join(kindFiles, relative), target);
    await chmod(target, relative.includes('/bin/') ? 0o755 : 0o644);
  }
}

/** A container starts kubelet and containerd, and nothing that a machine starts. */
async function tameSystemd(root: string): Promise<void> {
  const unwanted = [
    'lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service',
    'lib/systemd/system/{multi-user,local-fs,basic}.target.wants/*',
    'lib/systemd/system/sockets.target.wants/*{udev,initctl}*',
    'etc/systemd/system/*.wants',
  ];
  for (const file of globSync(unwanted, { cwd: root }))
    await rm(path.join(root, file), { recursive: true, force: true });
  await appendFile(path.join(root, 'etc/systemd/journald.conf'), 'ReadKMsg=no\n');
  const units = ['kubelet.service', 'containerd.service', 'undo-mount-hacks.service'];
  await mustRun('chroot', [root, 'systemctl', '--quiet', 'enable', ...units]);
  // Its registrations would be the whole kernel's.
  await mustRun('chroot', [root, 'systemctl', '--quiet', 'mask', 'systemd-binfmt.service']);
}

async function setUpContainers(root: string): Promise<void> {
  const inRoot = (...names: string[]): string => path.join(root, ...names);
  // kind's unit starts /usr/local/bin/containerd; Debian's is in /usr/bin.
  for (const program of ['containerd', 'ctr']) await symlink(`../../bin/${program}`, inRoot('usr/local/bin', program));
  await mkdir(inRoot('opt/cni/bin'), { recursive: true });
  for (const plugin of ['bridge', 'host-local', 'loopback', 'portmap', 'ptp']) {
    await copyFile(inRoot('usr/lib/cni', plugin), inRoot('opt/cni/bin', plugin));
  }
  await mkdir(inRoot('etc/cni/net.d'), { recursive: true });
  await writeFile(inRoot('etc/cni/net.d/10-pods.conflist'), JSON.stringify(POD_NETWORK));
  await writeFile(inRoot('usr/local/bin/crictl'), CRICTL, { mode: 0o755 });
  await writeFile(inRoot('etc/containerd/cri-base.json'), await containerSpecification(root));
  // Without CAP_SYS_RESOURCE nobody may lower the score that another was given.
  const config = await readFile(inRoot('etc/containerd/config.toml'), 'utf8');
  const restricted = config.replace('restrict_oom_score_adj = false', 'restrict_oom_score_adj = true');
  if (restricted === config)
    throw new Error("kind's configuration of containerd no longer sets restrict_oom_score_adj");
  await writeFile(inRoot('etc/containerd/config.toml'), restricted);
}

/** containerd's default, with the hook that kind adds and without limits of files and processes. */
async function containerSpecification(root: string): Promise<string> {
  const specification = JSON.parse(await mustRun('chroot', [root, 'ctr', 'oci', 'spec'])) as {
    hooks?: Record<string, unknown>;
    process: Record<string, unknown>;
  };
  delete specification.process['rlimits'];
  specification.hooks = { ...specification.hooks, createContainer: [{ path: '/kind/bin/mount-product-files.sh' }] };
  return JSON.stringify(specification);
}
