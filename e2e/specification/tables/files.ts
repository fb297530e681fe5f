import { gunzipSync } from 'node:zlib';
import { each, type Table } from '../row.ts';
import { TIME } from '../patterns.ts';

const FILES = '/api/sources/<source>/files';
const TREE = '/api/sources/<source>/tree';
const BYTES = { 'content-type': 'application/octet-stream' };
const JSON_BODY = { 'content-type': 'application/json' };
const FORM = { 'content-type': 'multipart/form-data; boundary=XX' };
const GZIP = { 'content-type': 'application/gzip' };
const TAR = { 'content-type': 'application/x-tar' };

const part = (disposition: string, content: string): string =>
  `--XX\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
const form = (...parts: string[]): string => `${parts.join('')}--XX--\r\n`;

/** `a.js` and `lib/b.js`, by `tar -czf`. */
const TWO_FILES = Buffer.from(
  'H4sIAAAAAAACA+3VwQoCIRSFYR/lPkGpM06L6GE0WhSRoQY9fk6bYKCixQhD/7fxou7kHP3qlNXMdDX0/XOtpqvWtnvN477RdhiUaNXALRefRFSKsXy69+18oQ73a0xF9vGSi3jZidkq/I/zMaxb5H/j3Pv8T+cx/50SR/6bvH+Y+Q/4vf+N7hz937z/Q+1/S/8DAAAAAAAAAAAAALA0D23rKXEAKAAA',
  'base64',
);
/** A symbolic link. */
const LINK = Buffer.from(
  'H4sIAAAAAAACA+3OOQ6DMBQEUB/FJ0A4CHwel1kEEsv9sSiDRCpSvdfMl2aK/3mO7+a1hDu1Vc75yOo7z3dK/dCF+Ch3f1Zty1rmGMM8TevV7lcPAAAAAAAAAAAAf7QD/76/+AAoAAA=',
  'base64',
);

export const files: Table = {
  title: 'Code files',
  inCluster: true,
  rows: [
    {
      says: 'POST /api/sources',
      sends: ['POST', '/api/sources', { name: 'files', type: 'manual' }],
      answers: 201,
      keeps: { source: 'id' },
    },
    {
      says: 'GET /:id/files → {files: []}',
      sends: ['GET', FILES],
      answers: 200,
      whole: { files: [] },
    },
    {
      says: 'PUT returns 201 when the file is created; raw binary with Content-Type: application/octet-stream → {success: true, path, created}, and the new ETag',
      sends: ['PUT', `${FILES}/lib%2Fa.ts`, 'export const a = 1;'],
      headers: BYTES,
      answers: 201,
      whole: { success: true, path: 'lib/a.ts', created: true },
      with: { etag: expect.stringMatching(/^".+"$/) },
      keeps: { first: '@etag' },
    },
    {
      says: 'and 200 when updated; JSON (content, encoding)',
      sends: ['PUT', `${FILES}/lib%2Fa.ts`, { content: 'export const a = 2; // grüße', encoding: 'utf-8' }],
      answers: 200,
      whole: { success: true, path: 'lib/a.ts', created: false },
      keeps: { second: '@etag' },
    },
    {
      says: 'GET: raw bytes with a content type by extension, ETag, nosniff, attachment and sandbox',
      sends: ['GET', `${FILES}/lib/a.ts`],
      answers: 200,
      text: 'export const a = 2; // grüße',
      with: {
        'content-type': 'text/typescript; charset=utf-8',
        etag: '<second>',
        'x-content-type-options': 'nosniff',
        'content-disposition': 'attachment',
        'content-security-policy': expect.stringContaining('sandbox'),
      },
    },
    {
      says: 'GET with Accept: application/json → {path, content, contentType, size, encoding}; text as utf-8',
      sends: ['GET', `${FILES}/lib%2Fa.ts`],
      headers: { accept: 'application/json' },
      answers: 200,
      whole: {
        path: 'lib/a.ts',
        content: 'export const a = 2; // grüße',
        contentType: 'text/typescript; charset=utf-8',
        size: 30,
        encoding: 'utf-8',
      },
    },
    {
      says: 'GET: not changed since If-None-Match',
      sends: ['GET', `${FILES}/lib%2Fa.ts`],
      headers: { 'if-none-match': '<second>' },
      answers: 304,
      text: '',
    },
    {
      says: 'HEAD: what GET answers, without the body',
      sends: ['HEAD', `${FILES}/lib%2Fa.ts`],
      answers: 200,
      text: '',
      with: { etag: '<second>', 'content-length': '30' },
    },
    {
      says: 'PUT: JSON in base64',
      sends: ['PUT', `${FILES}/image.png`, { content: 'iVBORwD/', encoding: 'base64' }],
      answers: 201,
    },
    {
      says: 'other content as base64',
      sends: ['GET', `${FILES}/image.png`],
      headers: { accept: 'application/json' },
      answers: 200,
      body: { content: 'iVBORwD/', contentType: 'image/png', size: 6, encoding: 'base64' },
    },
    {
      says: 'PUT: multipart form-data with a part named file',
      sends: ['PUT', `${FILES}/page.html`, form(part('name="file"; filename="any.html"', '# page a'))],
      headers: FORM,
      answers: 201,
    },
    {
      says: 'a multipart part file (or content)',
      sends: ['PUT', `${FILES}/page.html`, form(part('name="content"', '# page b'))],
      headers: FORM,
      answers: 200,
    },
    {
      says: 'any other content type as raw bytes',
      sends: ['PUT', `${FILES}/notes.md`, '# Notes'],
      headers: { 'content-type': 'text/markdown' },
      answers: 201,
    },
    {
      says: 'A PUT without a content type is raw bytes',
      sends: ['PUT', `${FILES}/notes.md`, '## Notes'],
      answers: 200,
    },
    {
      says: 'GET /:id/files → {files: [{path, size, mtime}]} sorted by path',
      sends: ['GET', FILES],
      answers: 200,
      whole: {
        files: [
          ['image.png', 6],
          ['lib/a.ts', 30],
          ['notes.md', 8],
          ['page.html', 8],
        ].map(([path, size]) => ({ path, size, mtime: TIME })),
      },
    },
    {
      says: 'POST on the same path only creates',
      sends: ['POST', `${FILES}/new.txt`, 'x'],
      answers: 201,
      whole: { success: true, path: 'new.txt', created: true },
    },
    {
      says: 'POST: 409 when the file exists',
      sends: ['POST', `${FILES}/new.txt`, 'y'],
      answers: 409,
      code: 'conflict',
    },
    ...each(
      [
        ['PUT', { 'if-match': '<first>' }],
        ['PUT', { 'if-none-match': '*' }],
        ['DELETE', { 'if-match': '<first>' }],
      ] as const,
      ([method, headers]) => ({
        says: `If-Match / If-None-Match: * are honored (412): ${method} with ${Object.keys(headers).join()}`,
        sends: method === 'PUT' ? ['PUT', `${FILES}/lib%2Fa.ts`, 'x'] : [method, `${FILES}/lib%2Fa.ts`],
        headers,
        answers: 412,
        code: 'precondition_failed',
      }),
    ),
    {
      says: 'If-Match of a file that does not exist (412)',
      sends: ['POST', `${FILES}/absent.txt`, 'x'],
      headers: { 'if-match': '*' },
      answers: 412,
      code: 'precondition_failed',
    },
    {
      says: 'If-Match with the current ETag',
      sends: ['PUT', `${FILES}/lib%2Fa.ts`, 'export const a = 3;'],
      headers: { 'if-match': '<second>' },
      answers: 200,
    },
    ...each(
      [
        ['JSON without content', JSON_BODY, '{}'],
        ['JSON that is malformed', JSON_BODY, '{"content":'],
        ['JSON with an unknown field', JSON_BODY, '{"content":"x","mode":1}'],
        ['an unknown encoding', JSON_BODY, '{"content":"x","encoding":"hex"}'],
        ['bad base64', JSON_BODY, '{"content":"a*b","encoding":"base64"}'],
        ['Multipart without its part', FORM, form(part('name="other"', 'x'))],
        ['Multipart cut short', FORM, part('name="file"', 'x')],
      ] as const,
      ([what, headers, body]) => ({
        says: `${what} → 400`,
        sends: ['PUT', `${FILES}/bad.txt`, body],
        headers,
        answers: 400,
        code: 'validation_failed',
      }),
    ),
    ...each(
      [
        ...['../b', '..%2Fb', '%2e%2e/b', 'a/../b', './b', 'a/./b', '%2Fb', 'a//b', 'a%00b', 'a%5Cb', '.git/config'],
        ...['a/.git/hooks', '%zz', ''],
      ],
      (path) => ({
        says: `Paths: empty, absolute, under .git/, a .. or . segment, a NUL or a backslash → 400: ${JSON.stringify(path)}`,
        sends: ['PUT', `${FILES}/${path}`, 'x'],
        answers: 400,
        code: 'validation_failed',
      }),
    ),
    {
      says: 'Paths over 1024 bytes → 400',
      sends: ['PUT', `${FILES}/${'x'.repeat(1025)}`, 'x'],
      answers: 400,
      code: 'validation_failed',
      limit: 'Path of a file',
    },
    ...each(['lib', 'lib/a.ts/c'], (path) => ({
      says: `A file where a folder exists, or the reverse → 409: ${path}`,
      sends: ['PUT', `${FILES}/${path}`, 'x'],
      answers: 409,
      code: 'conflict',
    })),
    ...each(['lib', 'absent.ts'], (path) => ({
      says: `GET of a folder, or of no file → 404: ${path}`,
      sends: ['GET', `${FILES}/${path}`],
      answers: 404,
      code: 'not_found',
    })),
    {
      says: 'DELETE → {success: true, path, deleted: true}',
      sends: ['DELETE', `${FILES}/new.txt`],
      answers: 200,
      whole: { success: true, path: 'new.txt', deleted: true },
    },
    {
      says: 'DELETE: absent → 404',
      sends: ['DELETE', `${FILES}/new.txt`],
      answers: 404,
      code: 'not_found',
    },
    ...each(['GET', 'PUT', 'POST', 'DELETE'] as const, (method) => ({
      says: `The source must exist for any file operation: ${method}`,
      sends:
        method === 'PUT' || method === 'POST'
          ? [method, '/api/sources/none/files/a', 'x']
          : [method, '/api/sources/none/files/a'],
      answers: 404,
      code: 'not_found',
    })),
    {
      says: 'PUT /:id/tree takes a tar (application/gzip) and makes it the whole content in one step → 200 {success: true, files}',
      sends: ['PUT', TREE, TWO_FILES],
      headers: GZIP,
      answers: 200,
      whole: { success: true, files: 2 },
    },
    {
      says: 'PUT /:id/tree: the whole content',
      sends: ['GET', FILES],
      answers: 200,
      body: { files: [{ path: 'a.js' }, { path: 'lib/b.js' }] },
    },
    {
      says: 'PUT /:id/tree takes a tar (application/x-tar)',
      sends: ['PUT', TREE, gunzipSync(TWO_FILES)],
      headers: TAR,
      answers: 200,
      whole: { success: true, files: 2 },
    },
    {
      says: 'POST /:id/tree only adds and replaces the given files, in one step; a multipart form (each part’s filename is its path)',
      sends: [
        'POST',
        TREE,
        form(part('name="file"; filename="lib/b.js"', 'b'), part('name="file"; filename="lib/c.js"', 'c')),
      ],
      headers: FORM,
      answers: 200,
      whole: { success: true, files: 3 },
    },
    {
      says: 'POST /:id/tree: what it gave',
      sends: ['GET', `${FILES}/lib/b.js`],
      answers: 200,
      text: 'b',
    },
    {
      says: 'GET /:id/tree returns all files as .tar.gz',
      sends: ['GET', TREE],
      answers: 200,
      with: {
        'content-type': 'application/gzip',
        'content-disposition': expect.stringMatching(/^attachment.*\.tar\.gz"$/),
      },
    },
    {
      says: 'Links and special files in a tar → 400',
      sends: ['PUT', TREE, LINK],
      headers: GZIP,
      answers: 400,
      code: 'validation_failed',
    },
    ...each(['PUT', 'POST'] as const, (method) => ({
      says: `415: wrong content type of a tree: ${method}`,
      sends: [method, TREE, '{}'],
      headers: JSON_BODY,
      answers: 415,
      code: 'unsupported_media_type',
    })),
    {
      says: 'POST /:id/tree: a file where a folder exists → 409',
      sends: ['POST', TREE, form(part('name="file"; filename="lib"', 'x'))],
      headers: FORM,
      answers: 409,
      code: 'conflict',
    },
    ...each(['PUT', 'POST'] as const, (method) => ({
      says: `415: a compressed body: ${method}`,
      sends: [method, `${FILES}/zipped.txt`, 'x'],
      headers: { ...BYTES, 'content-encoding': 'gzip' },
      answers: 415,
      code: 'unsupported_media_type',
    })),
    {
      says: 'Maximum file size: configurable',
      sends: ['PUT', '/api/settings', { settings: { 'files.max-size-bytes': '1024' } }],
      answers: 200,
    },
    { says: 'A file of the maximum size', sends: ['PUT', `${FILES}/size.txt`, 'x'.repeat(1024)], answers: 201 },
    ...each(
      [
        ['PUT', BYTES, 'x'.repeat(1025), 'One file of a source'],
        ['POST', BYTES, 'x'.repeat(1025), 'One file'],
        ['PUT', JSON_BODY, JSON.stringify({ content: 'x'.repeat(1025) }), 'One file'],
        ['PUT', FORM, form(part('name="file"', 'x'.repeat(1025))), 'One file'],
        ['PUT', JSON_BODY, JSON.stringify({ content: 'x'.repeat(70_000) }), 'JSON body that uploads a file'],
        [
          'PUT',
          FORM,
          form(...Array.from({ length: 101 }, (_, at) => part(`name="part-${at}"`, 'x'))),
          'Parts of a form that uploads a file',
        ],
      ] as const,
      ([method, headers, body, limit]) => ({
        says: `A file above the configured maximum size returns 413: ${method}, ${headers['content-type']}, ${limit}`,
        sends: [method, `${FILES}/${method}.txt`, body],
        headers,
        answers: 413,
        code: 'too_large',
        limit,
      }),
    ),
    ...each(['PUT', 'POST'] as const, (method) => ({
      says: `The setting files.max-size-bytes applies to each file of a tree (413): ${method}`,
      sends: [method, TREE, form(part('name="a"; filename="a.txt"', 'x'.repeat(1025)))],
      headers: FORM,
      answers: 413,
      code: 'too_large',
    })),
    {
      says: 'Maximum file size: default 50 MB',
      sends: ['PUT', '/api/settings', { settings: { 'files.max-size-bytes': null } }],
      answers: 200,
    },
    {
      says: 'A source that is not enabled …',
      sends: ['PUT', '/api/sources/<source>', { enabled: false }],
      answers: 200,
    },
    ...each(
      [
        ['PUT', `${FILES}/a.js`],
        ['POST', `${FILES}/b.js`],
        ['DELETE', `${FILES}/a.js`],
        ['PUT', TREE],
        ['POST', TREE],
      ] as const,
      ([method, target]) => ({
        says: `… accepts no file writes (403): ${method} ${target}`,
        sends: method === 'DELETE' ? [method, target] : [method, target, TWO_FILES],
        headers: method === 'DELETE' ? {} : GZIP,
        answers: 403,
        code: 'forbidden',
      }),
    ),
    {
      says: '… and its files are read',
      sends: ['GET', `${FILES}/size.txt`],
      answers: 200,
    },
  ],
};
