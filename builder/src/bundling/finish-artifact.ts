import { fileOf } from './module-kind.ts';

/** `require` of Node's own modules, which an ES module does not have by itself. */
const REQUIRE =
  'import{createRequire as __wherryCreateRequire}from"node:module";const require=__wherryCreateRequire(import.meta.url);';

/**
 * The artifact's text: esbuild's module, and its source map inline, whose sources are relative to the artifact
 * (`<source>/<path>`), so that stack traces name them below `/app`.
 */
export function finishArtifact(code: string, mapText: string): string {
  const map = JSON.parse(mapText) as { sources: string[] };
  map.sources = map.sources.map(sourceUrl);
  const base64 = Buffer.from(JSON.stringify(map)).toString('base64');
  // On the first line, which holds no code of the author's: the map stays right.
  const start = /\brequire\b/.test(code) ? REQUIRE : '';
  return `${start}${code}//# sourceMappingURL=data:application/json;base64,${base64}\n`;
}

const sourceUrl = (source: string): string =>
  fileOf(source.replace(/^(?:app|package):/, ''))
    .split('/')
    .map(encodeURIComponent)
    .join('/');
