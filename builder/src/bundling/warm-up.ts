import { gzipSync } from 'node:zlib';
import { Header } from 'tar/header';
import type { BuildOrder } from '../build-process/protocol.ts';
import { bundle } from './bundle.ts';
import { sourceFiles } from './source-files.ts';
import type { BundlerTools } from './bundler-tools.ts';

/** Enough for the code that answers esbuild to be compiled well, and for esbuild to have its memory. */
const MODULES = 120;
const ROUNDS = 2;
const FOLDER = 'node_modules/warm';
const LOCKED = { name: 'warm', version: '1.0.0', integrity: 'warm' };

/**
 * Builds made-up code that uses everything that builds use: a process that waits for its order has then done once what
 * the order requires, and needs half the time.
 * @param wanted whether there is still time; called between the rounds.
 */
export async function warmUp(
  { esbuild, honoFolder }: Pick<BundlerTools, 'esbuild' | 'honoFolder'>,
  wanted: () => boolean,
): Promise<void> {
  const code =
    "import all from 'npm:warm@1'; import * as one from 'npm:warm@1/one'; export default () => <p>{all}{one}</p>;";
  const bytes = Buffer.from(code);
  const trees: BuildOrder['trees'] = { warm: { 'h.tsx': ['', bytes.byteLength] } };
  const order: BuildOrder = { type: 'build', source: 'warm', path: 'h.tsx', trees, maxBytes: 10_000_000 };
  const packed = gzipSync(tarOf(warmPackage()));
  const packages: BundlerTools['packages'] = {
    layouts: () => Promise.resolve({ warm: { packages: { [FOLDER]: LOCKED }, folders: { 'warm@1': 'warm' } } }),
    tarball: () => Promise.resolve(packed),
  };
  for (let round = 0; round < ROUNDS && wanted(); round += 1) {
    await bundle(
      order,
      sourceFiles(trees, () => Promise.resolve(bytes)),
      { esbuild, honoFolder, packages },
    );
  }
}

function warmPackage(): Record<string, string> {
  const files: Record<string, string> = {
    'package.json': JSON.stringify({
      name: 'warm',
      version: '1.0.0',
      type: 'module',
      sideEffects: ['./m1.js'],
      exports: { '.': './m0.js', './one': { import: './m1.js' }, './c': './c.cjs' },
    }),
    'c.cjs': "exports.fs = require('fs'); exports.a = (x) => require('./' + x);\n//# sourceMappingURL=c.cjs.map\n",
  };
  for (let n = 0; n < MODULES; n += 1) {
    const next = n + 1 < MODULES ? `import next from './m${n + 1}.js';` : "import * as next from 'warm/c';";
    files[`m${n}.js`] =
      `${next}\nexport const value${n} = { text: 'value', next };\nexport function call${n}(...all) {\n  return all.map((one) => [one, value${n}]);\n}\nexport default call${n}(next);\n`;
  }
  return files;
}

function tarOf(files: Record<string, string>): Buffer {
  const blocks = Object.entries(files).flatMap(([path, text]) => {
    const body = Buffer.from(text);
    const block = Buffer.alloc(512);
    new Header({ path: `package/${path}`, size: body.length, type: 'File', mode: 0o644 }).encode(block);
    return [block, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
