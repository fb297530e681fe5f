import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

interface BundleRuntimeOptions {
  /** Where bundles are cached, one per digest of their inputs. Created if missing. */
  outputDirectory: string;
}

/** The list of a bundle's inputs beside it: they are read to check that nothing changed, without loading esbuild. */
interface Manifest {
  inputs: string[];
  digest: string;
}

const CURRENT = 'runtime.json';

/**
 * Builds the one file that each function's process runs. CommonJS: as an ES module it would load Node's fetch at start,
 * which costs each process 7 MiB. Kept by the digest of its inputs, so that a later start takes milliseconds.
 * @returns the file's absolute path.
 */
export async function bundleRuntime({ outputDirectory }: BundleRuntimeOptions): Promise<string> {
  const directory = path.resolve(outputDirectory);
  await mkdir(directory, { recursive: true });
  const kept = await current(directory);
  if (kept !== undefined) return kept;
  const { contents, inputs } = await build();
  const digest = await digestOf(inputs);
  const file = bundleFile(directory, digest);
  await writeWhole(file, contents);
  await writeWhole(path.join(directory, CURRENT), JSON.stringify({ inputs, digest } satisfies Manifest));
  await removeOthers(directory, path.basename(file));
  return file;
}

const bundleFile = (directory: string, digest: string): string =>
  path.join(directory, `runtime-${digest.slice(0, 16)}.cjs`);

/** The cached bundle, if it was built from the current sources. */
async function current(directory: string): Promise<string | undefined> {
  try {
    const manifest = JSON.parse(await readFile(path.join(directory, CURRENT), 'utf8')) as Manifest;
    if ((await digestOf(manifest.inputs)) !== manifest.digest) return undefined;
    const file = bundleFile(directory, manifest.digest);
    await access(file);
    return file;
  } catch {
    return undefined;
  }
}

async function build(): Promise<{ contents: Uint8Array; inputs: string[] }> {
  const { build: bundle } = await import('esbuild');
  const root = path.resolve(import.meta.dirname, '../../..');
  const result = await bundle({
    absWorkingDir: root,
    entryPoints: [fileURLToPath(import.meta.resolve('@wherry/runtime/main.ts'))],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    // Names are kept: they appear in the stacks of its own errors.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  const contents = result.outputFiles[0]?.contents;
  if (contents === undefined) throw new Error('esbuild produced no bundle of the runtime');
  return {
    contents,
    inputs: Object.keys(result.metafile.inputs)
      .sort()
      .map((input) => path.join(root, input)),
  };
}

/** Of the sources, of this file, which says how they are bundled, and of Node's version. */
async function digestOf(inputs: string[]): Promise<string> {
  const hash = createHash('sha256').update(process.version);
  const contents = await Promise.all([import.meta.filename, ...inputs].map((input) => readFile(input)));
  for (const content of contents) hash.update(String(content.length)).update(content);
  return hash.digest('hex');
}

/** Written completely or not at all, also where two services build it at once. */
async function writeWhole(file: string, contents: string | Uint8Array): Promise<void> {
  const partial = `${file}.${process.pid}.tmp`;
  await writeFile(partial, contents, { mode: 0o644 });
  await rename(partial, file);
}

/** Instances that run have their bundle in memory: older files are not needed. */
async function removeOthers(directory: string, keep: string): Promise<void> {
  const others = (await readdir(directory)).filter((name) => /^runtime-[0-9a-f]{16}\.cjs$/.test(name) && name !== keep);
  await Promise.all(others.map((name) => rm(path.join(directory, name), { force: true })));
}
