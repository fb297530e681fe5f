import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { mustRun } from '../command.ts';

/** The part of an image's configuration that is set here, as Docker spells it. */
export interface ImageConfig {
  Env?: string[];
  Entrypoint?: string[];
  Cmd?: string[];
  User?: string;
  WorkingDir?: string;
}

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

/** This machine's processor, as Go and Docker call it. */
function goArchitecture(): string {
  return ARCHITECTURES[process.arch] ?? process.arch;
}

/**
 * Packs a folder into an archive of one layer that `docker load` and `ctr images import` take, without a registry or a
 * daemon. The same files give the same archive.
 */
export async function packImage(image: {
  root: string;
  name: string;
  config: ImageConfig;
  archive: string;
}): Promise<void> {
  const work = `${image.archive}.parts`;
  await mkdir(work, { recursive: true });
  const layer = path.join(work, 'layer.tar');
  const reproducible = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  await mustRun('tar', ['-C', image.root, ...reproducible, '-cf', layer, '.']);
  const config = {
    architecture: goArchitecture(),
    os: 'linux',
    config: image.config,
    rootfs: { type: 'layers', diff_ids: [`sha256:${await sha256(layer)}`] },
  };
  await writeFile(path.join(work, 'config.json'), JSON.stringify(config));
  const manifest = [{ Config: 'config.json', RepoTags: [image.name], Layers: ['layer.tar'] }];
  await writeFile(path.join(work, 'manifest.json'), JSON.stringify(manifest));
  await mustRun('tar', ['-C', work, '-cf', image.archive, 'manifest.json', 'config.json', 'layer.tar']);
  await rm(work, { recursive: true });
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
