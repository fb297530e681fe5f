import type { IncomingMessage } from 'node:http';
import { invalid } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { mediaType } from '../http/json-body.ts';
import { putFile, type Stored } from './put-file.ts';
import { readJsonUpload } from './read-json-upload.ts';
import { readForm, tooLarge } from './upload-part.ts';
import { MANAGER_LIMITS } from '../limits.ts';

const PART_NAMES = new Set(['file', 'content']);

/**
 * Stores the content of an upload as a blob, in any of its three forms, distinguished by the content type, as it comes
 * (M10).
 * @param limit bytes of a file; nothing beyond is kept on disk.
 * @throws DomainError `too_large`, or `validation_failed` for a malformed body.
 */
export function readUpload(request: IncomingMessage, content: ContentStore, limit: number): Promise<Stored> {
  const type = mediaType(request);
  if (type === 'application/json') return readJsonUpload(request, content, limit);
  if (type === 'multipart/form-data') return readFormUpload(request, content, limit);
  return readRaw(request, content, limit);
}

async function readRaw(request: IncomingMessage, content: ContentStore, limit: number): Promise<Stored> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  return putFile(content, request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>, limit);
}

async function readFormUpload(request: IncomingMessage, content: ContentStore, limit: number): Promise<Stored> {
  let stored: Stored | undefined;
  let parts = 0;
  await readForm(request, { maxParts: MANAGER_LIMITS.formParts }, async (part) => {
    if (!PART_NAMES.has(part.name)) return drain(part.content);
    parts += 1;
    if (parts > 1) throw invalid('The form must have one part named file (or content), not several.');
    stored = await putFile(content, part.content, limit);
  });
  if (stored === undefined) throw invalid('The form must have a part named file (or content).');
  return stored;
}

/** A form continues only when each of its parts has been read. */
async function drain(content: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of content) void chunk;
}
