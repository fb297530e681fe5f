import { endpoint } from '../http/endpoint.ts';
import { fileDeletedSchema, fileListSchema, filePutSchema, fileViewSchema, treePutSchema } from './file-schemas.ts';

const common = { tag: 'Code files', permission: 'manage' } as const;
const upload = {
  kind: 'stream',
  types: ['application/json', 'multipart/form-data', 'application/octet-stream'],
  description:
    'JSON {content, encoding?: utf-8 | base64}; a multipart form with a part named file or content; any other content type: the bytes themselves',
} as const;
const treeUpload = {
  kind: 'stream',
  types: ['application/x-tar', 'application/gzip', 'multipart/form-data'],
  description:
    "A tar, a compressed tar, or a multipart form in which each part's filename is its path; plain files only",
} as const;

export const fileEndpoints = {
  list: endpoint({
    ...common,
    operationId: 'listFiles',
    method: 'get',
    path: '/api/sources/:id/files',
    summary: 'List the files of a source, by path',
    status: 200,
    reply: { json: fileListSchema },
    errors: ['not_found'],
  }),
  get: endpoint({
    ...common,
    operationId: 'getFile',
    method: 'get',
    path: '/api/sources/:id/files/{*path}',
    summary: 'Get a file: its bytes, or an envelope where Accept names application/json',
    status: 200,
    otherStatus: 304,
    reply: {
      json: fileViewSchema,
      bytes: { type: 'application/octet-stream', description: 'The bytes; the extension decides the content type' },
    },
    errors: ['not_found'],
  }),
  put: endpoint({
    ...common,
    operationId: 'putFile',
    method: 'put',
    path: '/api/sources/:id/files/{*path}',
    summary: 'Create or replace a file; If-Match and If-None-Match hold',
    audit: { action: 'file.put', kind: 'File', id: 'id', name: 'path' },
    body: upload,
    status: 200,
    otherStatus: 201,
    reply: { json: filePutSchema },
    errors: ['forbidden', 'not_found', 'conflict', 'precondition_failed'],
  }),
  create: endpoint({
    ...common,
    operationId: 'createFile',
    method: 'post',
    path: '/api/sources/:id/files/{*path}',
    summary: 'Create a file that does not exist',
    audit: { action: 'file.create', kind: 'File', id: 'id', name: 'path' },
    body: upload,
    status: 201,
    reply: { json: filePutSchema },
    errors: ['forbidden', 'not_found', 'conflict', 'precondition_failed'],
  }),
  remove: endpoint({
    ...common,
    operationId: 'deleteFile',
    method: 'delete',
    path: '/api/sources/:id/files/{*path}',
    summary: 'Delete a file; If-Match holds',
    audit: { action: 'file.delete', kind: 'File', id: 'id', name: 'path' },
    status: 200,
    reply: { json: fileDeletedSchema },
    errors: ['forbidden', 'not_found', 'conflict', 'precondition_failed'],
  }),
  getTree: endpoint({
    ...common,
    operationId: 'getTree',
    method: 'get',
    path: '/api/sources/:id/tree',
    summary: 'Get all files as a compressed tar',
    status: 200,
    reply: { bytes: { type: 'application/gzip', description: 'tar.gz' } },
    errors: ['not_found'],
  }),
  putTree: endpoint({
    ...common,
    operationId: 'putTree',
    method: 'put',
    path: '/api/sources/:id/tree',
    summary: "Make the given files the source's whole content, in one step",
    audit: { action: 'source.replace-files', kind: 'CodeSource', id: 'id' },
    body: treeUpload,
    status: 200,
    reply: { json: treePutSchema },
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
  addTree: endpoint({
    ...common,
    operationId: 'addToTree',
    method: 'post',
    path: '/api/sources/:id/tree',
    summary: 'Add and replace the given files, in one step',
    audit: { action: 'source.add-files', kind: 'CodeSource', id: 'id' },
    body: treeUpload,
    status: 200,
    reply: { json: treePutSchema },
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
};
