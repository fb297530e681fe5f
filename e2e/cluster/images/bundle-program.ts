import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build as esbuild, type Plugin } from 'esbuild';
import { mustRun } from '../command.ts';
import { root, toolEnvironment } from '../../tooling/run-command.ts';
import type { ProgramImage } from './image-table.ts';

/** Where an ES module bundle has packages in CommonJS: they call `require` of Node's modules. */
const REQUIRE =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

/** Required by code of packages that no program calls: with protobufjs, sketches-js would write sketches as protobuf. */
const UNREACHED = ['protobufjs/minimal'];

/** A thread's program, beside the file that starts it. */
const WORKER = /new Worker\(\s*new URL\((['"])(\.\/[\w./-]+)\.ts\1, import\.meta\.url\)/g;

/** A file that a program reads, beside the file that names it. */
const BESIDE = /new URL\((['"])(\.\/[\w./-]+\.(?:html|css|js))\1, import\.meta\.url\)/g;

/**
 * Bundles a program, and what it looks for on the disk, into a folder: `main.js` is the program.
 * @param folder made when it is not there; what is in it stays
 */
export async function bundleProgram(image: ProgramImage, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const workers = await bundle(image, {
    input: path.join(root, image.part, 'src/main.ts'),
    output: path.join(folder, 'main.js'),
  });
  for (const [name, input] of workers) await bundle(image, { input, output: path.join(folder, `${name}.js`) });
  // Node distinguishes ES modules from CommonJS by this file alone.
  await writeManifest(image, folder);
  for (const name of image.packages ?? []) {
    await cp(path.join(root, 'node_modules', name), path.join(folder, 'node_modules', name), {
      recursive: true,
      dereference: true,
    });
  }
  await copyPackageFiles(image, folder);
  if (image.rootOnly !== undefined) {
    const file = path.join(folder, image.rootOnly);
    await mkdir(path.dirname(file), { mode: 0o700 });
    await writeFile(file, '', { mode: 0o600 });
  }
  if (image.scripts !== undefined)
    await mustRun('node', [path.join(root, image.scripts), folder], { env: toolEnvironment() });
}

/** @returns the threads' programs that it starts: names and files */
async function bundle(
  image: ProgramImage,
  { input, output }: { input: string; output: string },
): Promise<Map<string, string>> {
  const workers = new Map<string, string>();
  await esbuild({
    absWorkingDir: root,
    entryPoints: [input],
    outfile: output,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: image.format,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    external: [...(image.packages ?? []), ...UNREACHED],
    plugins: [carryFiles(workers, path.dirname(output))],
    logLevel: 'silent',
    ...(image.format === 'esm' ? { banner: { js: REQUIRE } } : {}),
  });
  return workers;
}

async function copyPackageFiles({ packageFiles = {} }: ProgramImage, folder: string): Promise<void> {
  for (const [name, files] of Object.entries(packageFiles)) {
    for (const file of files)
      await cp(path.join(root, 'node_modules', name, file), path.join(folder, 'node_modules', name, file));
  }
}

/**
 * Each thread's program becomes a bundle of its own, and each file that the program reads is copied: both lie beside
 * the bundle that names them.
 */
function carryFiles(workers: Map<string, string>, folder: string): Plugin {
  return {
    name: 'files',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, async ({ path: file }) => {
        const beside = new Map<string, string>();
        const text = await readFile(file, 'utf8');
        const contents = text
          .replace(BESIDE, (_match, _quote, relative: string) => {
            const name = path.basename(relative);
            beside.set(name, path.resolve(path.dirname(file), relative));
            return `new URL("./${name}", import.meta.url)`;
          })
          .replace(WORKER, (_match, _quote, relative: string) => {
            const name = path.basename(relative);
            workers.set(name, path.resolve(path.dirname(file), `${relative}.ts`));
            return `new Worker(new URL("./${name}.js", import.meta.url)`;
          });
        for (const [name, source] of beside) await cp(source, path.join(folder, name));
        return { contents, loader: 'ts' };
      });
    },
  };
}

async function writeManifest({ name, format }: ProgramImage, folder: string): Promise<void> {
  const manifest = { name: `wherry-${name}`, private: true, type: format === 'esm' ? 'module' : 'commonjs' };
  await writeFile(path.join(folder, 'package.json'), JSON.stringify(manifest));
}
