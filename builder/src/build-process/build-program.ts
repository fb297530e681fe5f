import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { esbuildBinary, processScript } from '../process-script.ts';

/** The build process's program, and the packages that it needs from the disk. */
export interface BuildProgram extends Installation {
  code: string;
  /** Folders that the process may read. */
  readable: string[];
  /** What starts esbuild's own process as its library would: it serves builds over its standard input and output. */
  esbuildBinary: string;
  esbuildArguments: string[];
}

/** Absolute: esbuild's library, and Hono's folder. */
interface Installation {
  esbuildFile: string;
  honoFolder: string;
}

/**
 * The program as one script: types stripped and modules loaded at each start would cost each build 100 ms. It is passed
 * to the process over its standard input, so that no file contains it.
 */
export async function makeBuildProgram(): Promise<BuildProgram> {
  const { esbuildFile, honoFolder } = installation();
  const code = await processScript(fileURLToPath(new URL('../bundling/build-process.ts', import.meta.url)));
  const binary = esbuildBinary();
  const esbuildFolder = path.dirname(path.dirname(esbuildFile));
  const { version } = JSON.parse(await readFile(path.join(esbuildFolder, 'package.json'), 'utf8')) as {
    version: string;
  };
  return {
    code,
    esbuildFile,
    honoFolder,
    readable: [esbuildFolder, path.dirname(path.dirname(binary)), honoFolder],
    esbuildBinary: binary,
    esbuildArguments: [`--service=${version}`, '--ping'],
  };
}

/** The folders of the packages that a build uses. */
export function installation(): Installation {
  const esbuildFile = createRequire(import.meta.url).resolve('esbuild');
  const honoFolder = path.resolve(fileURLToPath(import.meta.resolve('hono/jsx/jsx-runtime')), '../../..');
  return { esbuildFile, honoFolder };
}
