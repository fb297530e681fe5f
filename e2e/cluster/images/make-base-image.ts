import { existsSync, realpathSync } from 'node:fs';
import { chmod, cp, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from '../../tooling/run-command.ts';
import { cacheFolder, digestOf } from '../folders.ts';
import { packImage } from '../node-image/pack-image.ts';
import { sharedLibraries } from '../node-image/shared-libraries.ts';

/** An image with Node and what it loads, and nothing else: the form of gcr.io/distroless/nodejs24-debian12:nonroot. */
interface BaseImage {
  name: string;
  archive: string;
}

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const NOBODY = 65532;

const FILES = {
  'etc/passwd': `root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:${NOBODY}:${NOBODY}:nonroot:/home/nonroot:/sbin/nologin\n`,
  'etc/group': `root:x:0:\nnonroot:x:${NOBODY}:\n`,
  'etc/nsswitch.conf': 'hosts: files dns\n',
};

/** Makes it once from the Node of `npm ci`, the libraries that `ldd` names, and the machine's certificates. */
export async function findOrMakeBaseImage(): Promise<BaseImage> {
  const node = realpathSync(path.join(root, 'node_modules/.bin/node'));
  const libraries = await sharedLibraries([node]);
  const digest = digestOf({ files: [import.meta.filename, node, ...libraries, CERTIFICATES] });
  const image = { name: `wherry/node-base:${digest}`, archive: cacheFolder('base-image', digest, 'image.tar') };
  if (existsSync(image.archive)) return image;
  const folder = `${path.dirname(image.archive)}.${process.pid}`;
  try {
    await fill(path.join(folder, 'root'), node, [...libraries, CERTIFICATES]);
    const archive = path.join(folder, 'image.tar');
    const search = 'PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
    const config = {
      Env: [search, `SSL_CERT_FILE=${CERTIFICATES}`],
      Entrypoint: ['/nodejs/bin/node'],
      User: String(NOBODY),
      WorkingDir: '/home/nonroot',
    };
    await packImage({ root: path.join(folder, 'root'), name: image.name, archive, config });
    await mkdir(path.dirname(image.archive), { recursive: true });
    await rename(archive, image.archive);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return image;
}

async function fill(folder: string, node: string, files: readonly string[]): Promise<void> {
  const copy = async (from: string, to: string): Promise<void> => {
    await mkdir(path.dirname(path.join(folder, to)), { recursive: true });
    await cp(from, path.join(folder, to), { dereference: true });
  };
  await copy(node, 'nodejs/bin/node');
  for (const file of files) await copy(file, file);
  for (const [file, text] of Object.entries(FILES)) await writeFile(path.join(folder, file), text);
  await mkdir(path.join(folder, 'home/nonroot'), { recursive: true });
  await mkdir(path.join(folder, 'tmp'));
  await chmod(path.join(folder, 'tmp'), 0o1777);
}
