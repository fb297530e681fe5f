import { copyFile, cp, mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { globSync } from 'node:fs';
import path from 'node:path';
import { mustRun } from '../command.ts';
import { packImage, type ImageConfig } from './pack-image.ts';
import { sharedLibraries } from './shared-libraries.ts';

const SEARCH_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

interface ImageFolders {
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
export async function makeSystemImages(folders: ImageFolders): Promise<void> {
  const list = await mustRun(path.join(folders.programs, 'kubeadm'), [
    'config',
    'images',
    'list',
    '--kubernetes-version',
    folders.version,
  ]);
  const nameOf = (program: string): string => {
    const found = list.split('\n').find((name) => name.includes(`/${program}:`));
    if (found === undefined) throw new Error(`kubeadm names no image of ${program}:\n${list}`);
    return found;
  };
  for (const program of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd']) {
    await makeImage(folders, nameOf(program), { Env: [SEARCH_PATH] }, async (image) => {
      await mkdir(path.join(image, 'tmp'));
      await addProgram(folders, program, path.join(image, 'usr/local/bin'));
    });
  }
  await makeImage(folders, nameOf('coredns'), { Entrypoint: ['/coredns'] }, (image) =>
    addProgram(folders, 'coredns', image),
  );
  await makeImage(folders, await sandboxImage(folders.root), { Entrypoint: ['/pause'] }, (image) =>
    addProgram(folders, 'pause', image),
  );
  await makeImage(folders, nameOf('kube-proxy'), { Env: [SEARCH_PATH] }, (image) => fillKubeProxy(folders, image));
}

/** containerd's own configuration says which image holds a pod's namespaces; kubeadm's list may name another. */
async function sandboxImage(root: string): Promise<string> {
  const text = await readFile(path.join(root, 'etc/containerd/config.toml'), 'utf8');
  const name = /sandbox_image = "(.*)"/.exec(text)?.[1];
  if (name === undefined) throw new Error("kind's configuration of containerd names no sandbox_image");
  return name;
}

async function makeImage(
  folders: ImageFolders,
  name: string,
  config: ImageConfig,
  fill: (image: string) => Promise<void>,
): Promise<void> {
  const label = path.basename(name).replace(/:.*/, '');
  const image = path.join(folders.archives, `${label}.root`);
  await mkdir(image, { recursive: true });
  await fill(image);
  await packImage({ root: image, name, config, archive: path.join(folders.archives, `${label}.tar`) });
  await rm(image, { recursive: true });
}

async function addProgram({ programs }: ImageFolders, program: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await copyFile(path.join(programs, program), path.join(folder, program));
}

/** kube-proxy runs nft or iptables, which load libraries and modules of their own: all from the node's Debian. */
async function fillKubeProxy(folders: ImageFolders, image: string): Promise<void> {
  const { root } = folders;
  await addProgram(folders, 'kube-proxy', path.join(image, 'usr/local/bin'));
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
