import { notFound } from '@wherry/core/errors.ts';
import { etagOf, isCurrent, preconditionsOf } from '../files/preconditions.ts';
import { routes, type Route } from '../http/endpoint.ts';
import { docsEndpoints } from './docs-endpoints.ts';
import { DocsFiles, type DocsFile } from './docs-files.ts';

/** Nothing inline, nothing evaluated, nothing of another origin (M6); Swagger UI's style sheet has icons as data URLs. */
const PAGE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
};
/** A browser keeps the file, and sends its ETag before it uses it again: an upgrade is visible at once. */
const FILE_HEADERS = { 'Cache-Control': 'no-cache', 'Cross-Origin-Resource-Policy': 'same-origin' };

export function docsRoutes(): Route[] {
  const files = new DocsFiles();
  return routes(docsEndpoints, {
    page: async () => {
      const page = await files.page();
      return { headers: { ...contentHeaders(page), ...PAGE_HEADERS }, bytes: page.open() };
    },
    file: async ({ params, request }) => {
      const file = await files.find(params.file);
      if (file === undefined) throw notFound(`The page has no file ${params.file}.`);
      const headers = { ...FILE_HEADERS, ETag: etagOf(file.digest) };
      if (isCurrent(preconditionsOf(request), file)) return { status: 304, headers };
      return { headers: { ...headers, ...contentHeaders(file) }, bytes: file.open() };
    },
  });
}

function contentHeaders({ contentType, size }: DocsFile): Record<string, string> {
  return { 'Content-Type': contentType, 'Content-Length': String(size) };
}
