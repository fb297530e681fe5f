import enhancedResolve from 'enhanced-resolve';
import type { Resolver } from 'enhanced-resolve';
import type { VirtualDisk } from './virtual-disk.ts';

/** How a module is requested: packages may have another file for each. */
export type ImportStyle = 'import' | 'require';

export interface PackageResolver {
  /**
   * Finds what a specifier means as Node does: `exports`, `imports`, `main`, index files, its own name.
   * @param folder of the importing file, below the virtual root.
   * @returns the file's path below the virtual root, or why there is none.
   */
  resolve(specifier: string, folder: string, style: ImportStyle): Promise<{ file: string } | { problem: string }>;
}

/** Node's, then those that bundlers know. */
const EXTENSIONS = ['.js', '.json', '.node', '.mjs', '.cjs', '.jsx', '.ts', '.tsx', '.mts', '.cts'];

/** Node's algorithm over the virtual disk alone. */
export function packageResolver(disk: VirtualDisk): PackageResolver {
  const resolvers = new Map<ImportStyle, Resolver>();
  const known = new Map<string, Promise<{ file: string } | { problem: string }>>();

  function resolverFor(style: ImportStyle): Resolver {
    const resolver =
      resolvers.get(style) ??
      enhancedResolve.ResolverFactory.createResolver({
        fileSystem: disk as unknown as Parameters<
          typeof enhancedResolve.ResolverFactory.createResolver
        >[0]['fileSystem'],
        conditionNames: ['node', style],
        mainFields: ['main', 'module'],
        extensions: EXTENSIONS,
        symlinks: false,
        pnpApi: null,
      });
    resolvers.set(style, resolver);
    return resolver;
  }

  function find(
    specifier: string,
    folder: string,
    style: ImportStyle,
  ): Promise<{ file: string } | { problem: string }> {
    const { promise, resolve } = Promise.withResolvers<{ file: string } | { problem: string }>();
    resolverFor(style).resolve({}, `/${folder}`, specifier, {}, (error, file) => {
      if (typeof file === 'string') resolve({ file: file.replace(/^\//, '') });
      else resolve({ problem: problemOf(error?.message ?? '') });
    });
    return promise;
  }

  return {
    resolve(specifier, folder, style) {
      const key = JSON.stringify([specifier, folder, style]);
      const result = known.get(key) ?? find(specifier, folder, style);
      known.set(key, result);
      return result;
    },
  };
}

/** The resolver's own words where they say more than that nothing was found; its paths begin at the virtual root. */
function problemOf(message: string): string {
  const [first = ''] = message.split('\n');
  if (!/exports field|imports field|target/i.test(first)) return 'it has no such file';
  return first.replaceAll(/(^|[\s"'(])\/(?=[\w@])/g, '$1').replace(/\.$/, '');
}
