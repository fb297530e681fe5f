/**
 * Writes the programs of the processes that build and that resolve packages, for an image without their sources:
 *   node builder/src/write-process-scripts.ts FOLDER
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { makeBuildProgram } from './build-process/build-program.ts';
import { makeInstallProgram } from './packages/npm/install-program.ts';

const folder = process.argv[2];
if (folder === undefined) throw new Error('Usage: node builder/src/write-process-scripts.ts FOLDER');
await writeFile(path.join(folder, 'build-process.cjs'), (await makeBuildProgram()).code);
await writeFile(path.join(folder, 'install-process.cjs'), await makeInstallProgram());
