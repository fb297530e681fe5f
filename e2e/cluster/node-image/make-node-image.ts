import { existsSync, globSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { mustRun } from '../command.ts';
import { cacheFolder, digestOf } from '../folders.ts';
import { kubernetesVersion, moduleFolder } from '../programs/program-table.ts';
import { progress } from '../progress.ts';
import { withLock } from '../with-lock.ts';
import { debianRelease, makeNodeFileSystem } from './node-file-system.ts';
import { makeSystemImages } from './system-images.ts';

/** A node image for kind as one tar of its file system, and the name that it gets. */
interface NodeImage {
  archive: string;
  name: string;
}

/**
 * Makes kind's node image once for this machine: Debian, containerd, and Kubernetes as our programs, its pods' images
 * in containerd's store. About a minute and a half; 1 GB in the cache.
 * @param programs the folder with the Kubernetes programs
 */
export async function findOrMakeNodeImage(programs: string): Promise<NodeImage> {
  const files = globSync('*.ts', { cwd: import.meta.dirname })
    .sort()
    .map((file) => path.join(import.meta.dirname, file));
  const digest = digestOf({ texts: [path.basename(programs), debianRelease()], files });
  const folder = cacheFolder('node-image', digest);
  const image = { archive: path.join(folder, 'node.tar'), name: `wherry/kind-node:${digest}` };
  if (existsSync(image.archive)) return image;
  await withLock(`node-image-${digest}`, "it makes the node's image", async () => {
    if (existsSync(image.archive)) return;
    await progress("Making the node's image, once for this machine", () =>
      makeNodeImage(folder, programs, image.archive),
    );
  });
  return image;
}

async function makeNodeImage(folder: string, programs: string, archive: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const root = path.join(folder, 'root');
  const archives = path.join(root, 'system-images');
  await mkdir(folder, { recursive: true });
  try {
    const version = kubernetesVersion();
    await progress("  Debian and kind's files", async () => {
      await makeNodeFileSystem(root, { kindFiles: await kindFiles(), programs, version });
    });
    await progress("  the images of Kubernetes' own pods", async () => {
      await mkdir(archives);
      await makeSystemImages({ root, programs, archives, version });
      await importImages(root);
      await rm(archives, { recursive: true });
    });
    await progress('  its archive', () =>
      mustRun('tar', ['-C', root, '--numeric-owner', '-cf', `${archive}.part`, '.']),
    );
    await rename(`${archive}.part`, archive);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** The files that kind's Dockerfile copies, from the module whose hash go.sum has. */
async function kindFiles(): Promise<string> {
  const module = moduleFolder('kind');
  await mustRun('go', ['mod', 'download', '-C', module, 'sigs.k8s.io/kind']);
  const folder = (await mustRun('go', ['list', '-C', module, '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/kind'])).trim();
  return path.join(folder, 'images/base/files');
}

const IMPORT = `
mount --make-rprivate /
mount -t proc proc "$0/proc"
mount --rbind /sys "$0/sys"
mount -t tmpfs none "$0/run"
exec chroot "$0" bash -ec '
  containerd --log-level error >/run/containerd.log 2>&1 & daemon=$!
  for try in $(seq 300); do ! ctr version >/dev/null 2>&1 || break; sleep 0.1; done
  ctr version >/dev/null || { cat /run/containerd.log >&2; exit 1; }
  for archive in /system-images/*.tar; do
    ctr -n k8s.io images import --label=io.cri-containerd.pinned=pinned --all-platforms --no-unpack --digests "$archive" >/dev/null
  done
  kill $daemon; wait $daemon || true'
`;

/** The node's own containerd puts the images into its store, in namespaces of its own. */
async function importImages(root: string): Promise<void> {
  await mustRun('unshare', ['--mount', '--pid', '--net', '--fork', '--kill-child', 'bash', '-ec', IMPORT, root]);
}
