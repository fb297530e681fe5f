/**
 * esbuild decides by a file's name alone whether it is a module by Node's rules, in which the default import of
 * CommonJS is `module.exports`. To files whose package.json says `"type": "module"` we give such a name, which no file
 * has.
 */
const SUFFIX = '//.mjs';
const DECIDED_BY_PACKAGE = /\.[jt]sx?$/;

/** The name for esbuild. */
export const moduleName = (file: string, type: unknown): string =>
  type === 'module' && DECIDED_BY_PACKAGE.test(file) ? file + SUFFIX : file;

/** The file of a name for esbuild. */
export const fileOf = (name: string): string => (name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name);

/** The suffix in messages and in names of sources. */
export const withoutSuffixes = (text: string): string => text.replaceAll(SUFFIX, '');
