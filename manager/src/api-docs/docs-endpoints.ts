import { endpoint } from '../http/endpoint.ts';

const common = { tag: 'About', method: 'get', status: 200, reply: {}, errors: [] } as const;

export const docsEndpoints = {
  page: endpoint({
    ...common,
    permission: 'read',
    takesCredentials: true,
    operationId: 'getDocs',
    path: '/api/docs',
    summary: 'This document as a page for browsers, which takes a management key or the session cookie',
    reply: { bytes: { type: 'text/html', description: 'The page; it contains no data of the service' } },
  }),
  file: endpoint({
    ...common,
    permission: 'public',
    operationId: 'getDocsFile',
    path: '/api/docs/:file',
    summary: 'A script or style sheet of the page',
    otherStatus: 304,
    reply: { bytes: { type: 'text/*', description: 'The file' } },
    errors: ['not_found'],
  }),
};
