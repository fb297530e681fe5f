import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../../tooling/run-command.ts';

/** One of our programs as an image. */
export interface ProgramImage {
  /** Its name without a tag is `wherry/<name>`. */
  name: string;
  /** The part's folder: with its Dockerfile and src/main.ts. */
  part: string;
  /** CommonJS where an ES module would load Node's fetch at the start, which costs each instance 7 MiB. */
  format: 'esm' | 'cjs';
  /** Packages that are copied and not bundled: they are looked for on the disk. */
  packages?: readonly string[];
  /** Files of packages that it reads and does not import. */
  packageFiles?: Readonly<Record<string, readonly string[]>>;
  /** A program that writes more files into the folder of the bundle, which it is given. */
  scripts?: string;
  /** An empty file in the folder of the bundle, whose own folder is closed to everybody but root. */
  rootOnly?: string;
}

export const programImages: readonly ProgramImage[] = [
  { name: 'operator', part: 'operator', format: 'esm' },
  {
    name: 'builder',
    part: 'builder',
    format: 'esm',
    packages: ['esbuild', `@esbuild/${process.platform}-${process.arch}`, 'hono'],
    scripts: 'builder/src/write-process-scripts.ts',
  },
  { name: 'router', part: 'router', format: 'esm' },
  {
    name: 'manager',
    part: 'manager',
    format: 'esm',
    packageFiles: {
      'swagger-ui-dist': [
        'package.json',
        'swagger-ui.css',
        'swagger-ui-bundle.js',
        'swagger-ui-bundle.js.LICENSE.txt',
        'LICENSE',
        'NOTICE',
      ],
    },
  },
  { name: 'runtime', part: 'runtime-image', format: 'cjs', rootOnly: 'root-only/termination-log' },
];

/** The images' tag: what the chart uses by default. */
function imageTag(): string {
  const chart = readFileSync(path.join(root, 'charts/wherry/Chart.yaml'), 'utf8');
  const version = /^appVersion: "?([^"\s]+)"?$/m.exec(chart)?.[1];
  if (version === undefined) throw new Error('charts/wherry/Chart.yaml has no appVersion');
  return version;
}

export function imageName({ name }: ProgramImage): string {
  return `wherry/${name}:${imageTag()}`;
}
