import type * as Esbuild from 'esbuild';

/** What a build uses of the installation. */
export interface Tools {
  esbuild: typeof Esbuild;
  /** Folder of the package `hono`, whose JSX runtime the platform serves. */
  honoFolder: string;
}
