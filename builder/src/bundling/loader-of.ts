import type { Loader } from 'esbuild';

const BY_EXTENSION: Record<string, Loader> = {
  ts: 'ts',
  mts: 'ts',
  cts: 'ts',
  tsx: 'tsx',
  js: 'js',
  mjs: 'js',
  cjs: 'js',
  jsx: 'jsx',
  json: 'json',
  txt: 'text',
  md: 'text',
  html: 'text',
  sql: 'text',
  wasm: 'binary',
};
const BY_TYPE: Record<string, Loader> = { json: 'json', text: 'text', bytes: 'binary' };
const HANDLER = /\.(?:tsx?|mts|jsx?|mjs|cjs)$/;

/** Whether a handler may be in a file of this name. */
export const isHandlerFile = (path: string): boolean => HANDLER.test(path);

/**
 * How a file is read, by the import's `type` attribute, else by the file's extension. A string says why it cannot be.
 */
export function loaderOf(file: string, attributes: Record<string, string>): { loader: Loader } | { problem: string } {
  const { type } = attributes;
  if (type !== undefined) {
    const loader = Object.hasOwn(BY_TYPE, type) ? BY_TYPE[type] : undefined;
    return loader === undefined
      ? { problem: `the type ${JSON.stringify(type)} is not supported. Use json, text or bytes` }
      : { loader };
  }
  const extension = /\.([^./]+)$/.exec(file)?.[1]?.toLowerCase() ?? '';
  const loader = Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined;
  return loader === undefined
    ? { problem: `${file} has an unknown file type. Import it with { type: "text" } or { type: "bytes" }` }
    : { loader };
}

/** Whether the loader reads code, which can import. */
export const isCode = (loader: Loader): boolean => ['ts', 'tsx', 'js', 'jsx'].includes(loader);
