import { copyFile, cp, mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { globSync } from 'node:fs';
import path from 'node:path';
import { mustRun } from '../command.ts';
import { packImage, type ImageConfig } from './pack-image.ts';
import { sharedLibraries } from './shared-libraries.ts';

const SEARCH_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

interface Places {
  /** The node's file system. */
  root: string;
  /** The folder with the Kubernetes programs. */
  programs: string;
  /** Where the archives go. */
  archives: string;
  version: string;
}

/**
 * Makes the images of what kubeadm starts as pods, under the names that it requires, from our programs: nothing here
 * can reach the registry that has the published ones.
 */
export async function makeSystemImages(places: Places): Promise<void> {
  const list = await mustRun(path.join(places.programs, 'kubeadm'), [
    'config',
    'images',
    'list',
    '--kubernetes-version',
    places.version,
  ]);
  const nameOf = (program: string): string => {
    const found = list.split('\n').find((name) => name.includes(`/${program}:`));
    if (found === undefined) throw new Error(`kubeadm names no image of ${program}:\n${list}`);
    return found;
  };
  for (const program of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd']) {
    await makeImage(places, nameOf(program), { Env: [SEARCH_PATH] }, async (image) => {
      await mkdir(path.join(image, 'tmp'));
      await addProgram(places, program, path.join(image, 'usr/local/bin'));
    });
  }
  await makeImage(places, nameOf('coredns'), { Entrypoint: ['/coredns'] }, (image) =>
    addProgram(places, 'coredns', image),
  );
  await makeImage(places, await sandboxImage(places.root), { Entrypoint: ['/pause'] }, (image) =>
    addProgram(places, 'pause', image),
  );
  await makeImage(places, nameOf('kube-proxy'), { Env: [SEARCH_PATH] }, (image) => fillKubeProxy(places, image));
}

/** containerd's own configuration says which image holds a pod's namespaces; kubeadm's list may name another. */
async function sandboxImage(root: string): Promise<string> {
  const text = await readFile(path.join(root, 'etc/containerd/config.toml'), 'utf8');
  const name = /sandbox_image = "(.*)"/.exec(text)?.[1];
  if (name === undefined) throw new Error("kind's configuration of containerd names no sandbox_image");
  return name;
}

async function makeImage(
  places: Places,
  name: string,
  config: ImageConfig,
  fill: (image: string) => Promise<void>,
): Promise<void> {
  const label = path.basename(name).replace(/:.*/, '');
  const image = path.join(places.archives, `${label}.root`);
  await mkdir(image, { recursive: true });
  await fill(image);
  await packImage({ root: image, name, config, archive: path.join(places.archives, `${label}.tar`) });
  await rm(image, { recursive: true });
}

async function addProgram({ programs }: Places, program: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await copyFile(path.join(programs, program), path.join(folder, program));
}

/** kube-proxy runs nft or iptables, which load libraries and modules of their own: all from the node's Debian. */
async function fillKubeProxy(places: Places, image: string): Promise<void> {
  const { root } = places;
  await addProgram(places, 'kube-proxy', path.join(image, 'usr/local/bin'));
  for (const folder of ['usr/sbin', 'usr/lib', 'tmp', 'run', 'etc'])
    await mkdir(path.join(image, folder), { recursive: true });
  for (const link of ['sbin', 'lib', 'lib64']) await symlink(`usr/${link}`, path.join(image, link));
  for (const name of ['', '-save', '-restore'].flatMap((end) => [`iptables${end}`, `ip6tables${end}`])) {
    await symlink('xtables-nft-multi', path.join(image, 'usr/sbin', name));
  }
  const binaries = ['/usr/sbin/nft', '/usr/sbin/xtables-nft-multi'];
  const modules = globSync('usr/lib/*/xtables/*.so', { cwd: root }).map((file) => `/${file}`);
  const libraries = await sharedLibraries([...binaries, ...modules], root);
  const protocols = globSync('etc/protocols', { cwd: root }).map((file) => `/${file}`);
  for (const file of [...binaries, ...modules, ...libraries, ...protocols]) {
    const target = path.join(image, file.replace(/^\/lib/, '/usr/lib'));
    await mkdir(path.dirname(target), { recursive: true });
    await cp(path.join(root, file), target, { dereference: true });
  }
}
