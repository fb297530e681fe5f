import type { TreeEntry } from '@wherry/core/trees/tree.ts';
import { routes, type AnyEndpoint, type Call, type Reply, type Route } from '../http/endpoint.ts';
import { actedOn, isoTime, SUCCESS } from '../object-access/shape.ts';
import { contentTypeOf } from './content-types.ts';
import { fileEndpoints } from './file-endpoints.ts';
import type { FileView } from './file-schemas.ts';
import type { FileService, Upload } from './file-service.ts';
import { etagOf, isCurrent, preconditionsOf } from './preconditions.ts';
import { readTreeUpload } from './read-tree-upload.ts';
import { readUpload } from './read-upload.ts';
import type { StoredFile } from './source-trees.ts';
import { ViewBudget } from './view-budget.ts';

/** An upload may take minutes, and its caller lose the right to it meanwhile. */
type Uploading = Pick<Call<AnyEndpoint>, 'request' | 'requireRight'>;

export function fileRoutes(service: FileService): Route[] {
  const budget = new ViewBudget();
  const put = async (call: Uploading & { params: { id: string; path: string } }, createOnly: boolean) => {
    const { id: sourceId, path } = call.params;
    const conditions = preconditionsOf(call.request);
    const { entry, created } = await service.put({ sourceId, path, conditions, createOnly }, async (content, limit) => {
      const stored = await readUpload(call.request, content, limit);
      call.requireRight();
      return stored;
    });
    const headers = { ETag: etagOf(entry.digest) };
    return {
      status: created ? 201 : 200,
      headers,
      json: { ...SUCCESS, path, created },
      objects: [{ id: sourceId, name: path }],
    };
  };
  const putTree = async (call: Uploading & { params: { id: string } }, whole: boolean) => {
    const upload: Upload<Map<string, StoredFile>> = async (content, limit) => {
      const stored = await readTreeUpload(call.request, content, { limit });
      call.requireRight();
      return stored;
    };
    const { source, files } = await service.putTree(call.params.id, upload, whole);
    return { json: { ...SUCCESS, files }, objects: [actedOn(source)] };
  };
  return routes(fileEndpoints, {
    list: async ({ params }) => {
      const files = await service.list(params.id);
      return { json: { files: files.map(({ path, size, mtime }) => ({ path, size, mtime: isoTime(mtime) })) } };
    },
    get: async (call) => getFile({ service, budget }, await service.find(call.params.id, call.params.path), call),
    put: async (call) => put(call, false),
    create: async (call) => put(call, true),
    remove: async ({ params, request }) => {
      await service.remove({ sourceId: params.id, path: params.path, conditions: preconditionsOf(request) });
      return {
        json: { ...SUCCESS, path: params.path, deleted: true as const },
        objects: [{ id: params.id, name: params.path }],
      };
    },
    getTree: async ({ params }) => ({
      headers: {
        'Content-Type': 'application/gzip',
        'Content-Disposition': `attachment; filename="${params.id}.tar.gz"`,
      },
      bytes: await service.packTree(params.id),
    }),
    putTree: async (call) => putTree(call, true),
    addTree: async (call) => putTree(call, false),
  });
}

async function getFile(
  { service, budget }: { service: FileService; budget: ViewBudget },
  entry: TreeEntry,
  { request, onAnswered }: Pick<Call<AnyEndpoint>, 'request' | 'onAnswered'>,
): Promise<Reply<FileView>> {
  const headers = { ETag: etagOf(entry.digest), Vary: 'Accept' };
  if (isCurrent(preconditionsOf(request), entry)) return { status: 304, headers };
  if (acceptsJson(request.headers.accept)) {
    // The caller may read the answer late: until then it is in memory.
    onAnswered(budget.take(entry.size));
    return { headers, json: envelope(entry, await service.bytes(entry)) };
  }
  return {
    headers: {
      ...headers,
      'Content-Type': contentTypeOf(entry.path),
      'Content-Length': String(entry.size),
      // An uploaded page must never run on this origin (M6).
      'Content-Disposition': 'attachment',
      'Content-Security-Policy': 'sandbox',
    },
    bytes: await service.stream(entry),
  };
}

/** Only where JSON is named and nothing is preferred to it: every client sends a wildcard. */
function acceptsJson(accept: string | undefined): boolean {
  const ranges = (accept ?? '').split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { type, weight: weight === undefined ? 1 : Number(weight) };
  });
  const json = ranges.find(({ type }) => type === 'application/json');
  return (
    json !== undefined && json.weight > 0 && ranges.every(({ weight }) => Number.isNaN(weight) || weight <= json.weight)
  );
}

function envelope(entry: TreeEntry, bytes: Buffer): FileView {
  const text = asText(bytes);
  return {
    path: entry.path,
    content: text ?? bytes.toString('base64'),
    contentType: contentTypeOf(entry.path),
    size: entry.size,
    encoding: text === undefined ? 'base64' : 'utf-8',
  };
}

/** The bytes as text if that can be converted back to the same bytes; undefined otherwise. */
function asText(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
