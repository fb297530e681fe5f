import { createHash } from 'node:crypto';
import { existsSync, globSync, readdirSync, statSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mustRun, type Start } from '../command.ts';
import { cacheFolder } from '../folders.ts';
import { progress } from '../progress.ts';
import { root } from '../../tooling/run-command.ts';
import { bundleProgram } from './bundle-program.ts';
import { imageName, programImages, type ProgramImage } from './image-table.ts';
import { findOrMakeBaseImage } from './make-base-image.ts';

/** Archives of images that are kept: about 160 MB each. */
const KEPT = 3;

/** The existing programs: with a Dockerfile and a main.ts. */
function presentImages(): ProgramImage[] {
  return programImages.filter(({ part }) =>
    ['Dockerfile', 'src/main.ts'].every((file) => existsSync(path.join(root, part, file))),
  );
}

/**
 * Makes a folder for each program of which `docker build` makes its image: its Dockerfile, and the bundle in `app`.
 * @returns the programs
 */
export async function makeContexts(folder: string): Promise<ProgramImage[]> {
  const images = presentImages();
  for (const image of images) {
    const context = path.join(folder, image.name);
    await bundleProgram(image, path.join(context, 'app'));
    await copyFile(path.join(root, image.part, 'Dockerfile'), path.join(context, 'Dockerfile'));
  }
  return images;
}

/** All images of our programs in one archive, as `docker save` writes it. */
interface ImageArchive {
  archive: string;
  names: string[];
}

/**
 * Builds the images of our programs on a base image without a registry, or finds them in the cache by the digest of
 * what goes in.
 * @param start where the Docker daemon is
 */
export async function findOrBuildImages(start: Start): Promise<ImageArchive> {
  const work = await mkdtemp(path.join(tmpdir(), 'wherry-images-'));
  try {
    const images = await progress('  bundles of our programs', () => makeContexts(work));
    const base = await findOrMakeBaseImage();
    const archive = cacheFolder('images', `${await digestOfTree(work, base.name)}.tar`);
    const names = images.map(imageName);
    if (existsSync(archive)) await utimes(archive, new Date(), new Date());
    else {
      await progress(`  images of ${images.length} programs`, async () => {
        await mustRun('docker', ['load', '--input', base.archive], { start });
        for (const image of images) {
          const args = [
            'build',
            '--quiet',
            '--build-arg',
            `BASE_IMAGE=${base.name}`,
            '--tag',
            imageName(image),
            path.join(work, image.name),
          ];
          await mustRun('docker', args, { start });
        }
        await save(start, names, archive);
      });
    }
    return { archive, names };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function save(start: Start, names: readonly string[], archive: string): Promise<void> {
  const folder = path.dirname(archive);
  await mkdir(folder, { recursive: true });
  const unfinished = `${archive}.${process.pid}`;
  await mustRun('docker', ['save', '--output', unfinished, ...names], { start });
  await rename(unfinished, archive);
  const byAge = readdirSync(folder).sort(
    (a, b) => statSync(path.join(folder, b)).mtimeMs - statSync(path.join(folder, a)).mtimeMs,
  );
  for (const old of byAge.slice(KEPT)) await rm(path.join(folder, old), { force: true });
}

async function digestOfTree(folder: string, base: string): Promise<string> {
  const hash = createHash('sha256').update(base);
  for (const file of globSync('**/*', { cwd: folder }).sort()) {
    const absolute = path.join(folder, file);
    if (!statSync(absolute).isFile()) continue;
    const content = await readFile(absolute);
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}
