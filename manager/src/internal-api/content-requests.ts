import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { DIGEST_HEADER } from '@wherry/content/http-content-store.ts';
import { DomainError, invalid, notFound } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { digestSchema, type Digest } from '@wherry/core/resources/meta.ts';
import { z } from 'zod';
import { readJson, refuseEncoding } from '../http/json-body.ts';
import { sendEmpty, sendJson } from '../http/reply.ts';
import { parsed } from './parsed.ts';

const MIB = 1024 * 1024;
/** The operator stores artifacts, locks and files of its sources; all of these have smaller limits of their own. */
const MAX_BLOB_BYTES = 256 * MIB;
/** Of a list of digests: some 900,000. */
const MAX_COLLECT_BYTES = 64 * MIB;
/** A blob that was put in the last minute is never removed: its reference may not be written yet. */
const LEAST_GRACE_MS = 60_000;

const collectSchema = z.strictObject({ referenced: z.array(digestSchema), graceMs: z.int().min(LEAST_GRACE_MS) });

interface ContentDependencies {
  content: ContentStore;
}

/** Stores the body. A body that does not match its announced digest is not kept. */
export async function putBlob(
  request: IncomingMessage,
  response: ServerResponse,
  { content }: ContentDependencies,
): Promise<void> {
  refuseEncoding(request);
  const announced = announcedDigest(request);
  if (Number(request.headers['content-length'] ?? 0) > MAX_BLOB_BYTES)
    throw new DomainError('too_large', `The content is larger than ${MAX_BLOB_BYTES} bytes.`);
  // Destroying the request would take the answer's connection with it.
  const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  const stored = await content.put(announced === undefined ? body : matching(body, announced), MAX_BLOB_BYTES);
  sendJson(response, 201, stored);
}

export async function sendBlob(response: ServerResponse, digest: Digest, content: ContentStore): Promise<void> {
  const bytes = Readable.from(await content.open(digest), { objectMode: false });
  response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  // Not pipeline(), which ends the connection where the source fails: the client must be able to distinguish the two.
  await new Promise<void>((resolve, reject) => {
    bytes.once('error', reject);
    response.once('finish', resolve);
    response.once('close', () => {
      bytes.destroy();
      resolve();
    });
    bytes.pipe(response);
  });
}

export async function hasBlob(response: ServerResponse, digest: Digest, content: ContentStore): Promise<void> {
  if (!(await content.has(digest))) throw notFound(`There is no blob ${digest}.`);
  sendEmpty(response, 200);
}

/**
 * Removes what the caller does not refer to. Only it knows what sources, functions and workloads refer to; the grace
 * period protects what was uploaded here and is not referred to yet.
 */
export async function collectBlobs(
  request: IncomingMessage,
  response: ServerResponse,
  { content }: ContentDependencies,
): Promise<void> {
  const { referenced, graceMs } = parsed(collectSchema, await readJson(request, { limit: MAX_COLLECT_BYTES }));
  sendJson(response, 200, { removed: await content.collect(new Set(referenced), graceMs) });
}

function announcedDigest({ headers }: IncomingMessage): Digest | undefined {
  const announced = headers[DIGEST_HEADER];
  if (announced === undefined) return undefined;
  const digest = digestSchema.safeParse(announced);
  if (digest.success) return digest.data;
  throw invalid(`${DIGEST_HEADER} must be a SHA-256 digest in lowercase hexadecimal.`);
}

/** Fails at the end where the bytes do not match, before the blob gets its name. */
async function* matching(body: AsyncIterable<Buffer>, digest: Digest): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for await (const chunk of body) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== digest)
    throw invalid(`The content does not match ${DIGEST_HEADER}: it was changed in transit.`);
}
