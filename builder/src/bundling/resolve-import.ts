import { isBuiltin } from 'node:module';
import { npmSpecifier, type NpmSpecifier } from '../packages/npm-specifier.ts';
import type { FailureReason } from './build-problem.ts';
import type { SourceFiles } from './source-files.ts';

type Resolution =
  | { file: string }
  | { builtin: string }
  /** An npm package, as `npm:` names it. */
  | { npm: NpmSpecifier }
  /** A specifier that packages, tsconfig.json or package.json give a meaning: `dayjs`, `@/lib`, `#lib`. */
  | { bare: string }
  | { refused: FailureReason; text: string };

type Files = Pick<SourceFiles, 'has' | 'hasSource' | 'otherCase'>;

/** In the order in which they are tried when an import names none. */
const EXTENSIONS = ['.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs', '.json'];
/** As TypeScript does: an import names the file that a compiler would have written. */
const WRITTEN_AS: Record<string, string[]> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};

/** Kinds of specifier that builds do not support, and what to do instead. The first that matches counts. */
const UNSUPPORTED: [kind: RegExp, advice: string][] = [
  [
    /^(?:https?|jsr):/i,
    'code is not fetched from the network. Add the file to a source and import it by a relative path',
  ],
  [
    /^(?:[a-z]:[\\/]|[\\/]|file:)/i,
    'import files by a relative path that begins with ./ or ../; a source is a folder beside the other sources',
  ],
  [/^[a-z][a-z0-9+.-]*:/i, 'imports of this kind are not supported. Import a file by a relative path'],
  [/\\/, 'use / instead of \\'],
  [/\.node$/i, 'native add-ons cannot run here. Use a WebAssembly or JavaScript version'],
];

/**
 * Where an import leads: a file of the sources, a module of Node's, or nowhere. It uses only names in the trees, so
 * that no spelling reaches anything else (B2).
 * @param importer `<source>/<path>` of the file that imports.
 */
export function resolveImport(specifier: string, importer: string, files: Files): Resolution {
  if (isBuiltin(specifier)) return { builtin: specifier };
  if (/^node:/i.test(specifier)) return refuse('ImportNotFound', specifier, 'Node.js has no such module');
  if (specifier.startsWith('npm:')) return npmImport(specifier);
  const unsupported = UNSUPPORTED.find(([kind]) => kind.test(specifier));
  if (unsupported !== undefined) return refuse('ImportNotSupported', specifier, unsupported[1]);
  if (!/^\.\.?(?:\/|$)/.test(specifier)) return { bare: specifier };
  const path = join(importer, specifier);
  if (path === undefined) return refuse('ImportNotSupported', specifier, 'it points outside the sources');
  const found = candidates(path, /(?:^|\/)\.{0,2}$/.test(specifier)).find((file) => files.has(file));
  return found === undefined ? missing(specifier, path, files) : { file: found };
}

function npmImport(specifier: string): Resolution {
  const npm = npmSpecifier(specifier);
  return 'problem' in npm ? { refused: 'PackageRefused', text: `${npm.problem}.` } : { npm };
}

/** The file of the sources that a path means, with the extensions and index files that an import may leave out. */
export const sourceFile = (path: string, files: Files): string | undefined =>
  candidates(path, path.endsWith('/')).find((file) => files.has(file));

const refuse = (refused: FailureReason, specifier: string, why: string): Resolution => ({
  refused,
  text: `Cannot import ${JSON.stringify(specifier)}: ${why}.`,
});

/** Joins as folders do; undefined when it leads above the sources. */
function join(importer: string, specifier: string): string | undefined {
  const segments = importer.split('/').slice(0, -1);
  for (const segment of specifier.split('/')) {
    if (segment === '..' && segments.pop() === undefined) return undefined;
    if (segment !== '..' && segment !== '.' && segment !== '') segments.push(segment);
  }
  return segments.join('/');
}

function candidates(path: string, isFolder: boolean): string[] {
  const inFolder = EXTENSIONS.map((extension) => `${path}/index${extension}`);
  if (isFolder) return inFolder;
  const [, stem = path, extension = ''] = /^(.*)(\.[cm]?jsx?)$/.exec(path) ?? [];
  const written = (WRITTEN_AS[extension] ?? []).map((source) => stem + source);
  return [path, ...written, ...EXTENSIONS.map((added) => path + added), ...inFolder];
}

function missing(specifier: string, path: string, files: Files): Resolution {
  const [source = '', ...rest] = path.split('/');
  if (source === '')
    return refuse('ImportNotFound', specifier, 'it points to the folder of all sources, not to a file');
  if (!files.hasSource(source))
    return refuse('ImportNotFound', specifier, `there is no source ${source}, or it has no code yet`);
  const file = rest.join('/') || 'index.ts';
  const similar = candidates(path, false)
    .map((name) => files.otherCase(name))
    .find((name) => name !== undefined);
  const hint = similar === undefined ? '' : ` (there is ${similar}: names are case-sensitive)`;
  const tried = /\.[^/]*$/.test(file) ? file : `${file}, with any extension`;
  return refuse('ImportNotFound', specifier, `source ${source} has no file ${tried}${hint}`);
}
