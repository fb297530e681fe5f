import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

/** The building process's program, and the packages that it needs from the disk. */
export interface BuildProgram {
  code: string;
  /** Absolute: esbuild's library, and Hono's folder. */
  esbuildFile: string;
  honoFolder: string;
  /** Folders that the process may read. */
  readable: string[];
}

/**
 * The program as one script: types stripped and modules loaded at each start would cost each build 100 ms.
 * It goes to the process over its standard input, so that no file of it lies anywhere.
 */
export function makeBuildProgram(): BuildProgram {
  const require = createRequire(import.meta.url);
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL('build-process.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    logLevel: 'silent',
  });
  const esbuildFile = require.resolve('esbuild');
  const binary = createRequire(esbuildFile).resolve(`@esbuild/${process.platform}-${process.arch}/package.json`);
  const honoFolder = path.resolve(fileURLToPath(import.meta.resolve('hono/jsx/jsx-runtime')), '../../..');
  const readable = [path.dirname(path.dirname(esbuildFile)), path.dirname(binary), honoFolder];
  return { code: outputFiles[0]?.text ?? '', esbuildFile, honoFolder, readable };
}
