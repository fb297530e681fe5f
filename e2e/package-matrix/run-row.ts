import { stat } from 'node:fs/promises';
import path from 'node:path';
import { eventually, send } from '../testing/api-client.ts';
import type { ApiClient } from '../testing/api-client.ts';
import type { Service } from '../testing/embedded-service.ts';
import type { Row } from './matrix.ts';
import { sourceOf, type SourceOfRow } from './sources.ts';

/** The outcome for a function that uses a package. */
export interface Outcome {
  name: string;
  /** What it answered, with the status, once it was ready. */
  answer?: { status: number; body: unknown };
  /** Why it never became ready, as its status says. */
  failure?: { reason: string; message: string };
  /** Size of the artifact, source map included. */
  bytes?: number;
  /** From the function's creation to its first answer: packages resolved and taken from the cache. */
  firstMs?: number;
  /** From an edit of the handler until the new revision serves. */
  editMs?: number;
}

interface Status {
  ready: boolean;
  reason: string;
  message: string;
  revision: string | null;
}

const READY_DEADLINE_MS = 150_000;
/** The status of a function whose build or start is in progress, or will be retried automatically. */
const UNDER_WAY = new Set(['Pending', 'Building', 'Built', 'Starting', 'RegistryUnavailable', 'InstallTimeout']);

/** Makes the function, calls it once, edits it once, and removes it and its source. */
export async function runRow(row: Row, service: Service, api: ApiClient): Promise<Outcome> {
  const source = sourceOf(row);
  const sourceId = await api.source(`matrix-${row.name}`, source.files);
  const since = performance.now();
  const id = await api.function({
    name: row.name,
    handler: `matrix-${row.name}/${source.handler}`,
    route: `/${row.name}`,
    debug: true,
  });
  try {
    const status = await finalStatus(api, id);
    if (!status.ready) return { name: row.name, failure: { reason: status.reason, message: status.message } };
    const answer = await send(`${service.functionUrl}/run/${row.name}`);
    const firstMs = performance.now() - since;
    const bytes = await artifactBytes(service, status.revision ?? '');
    const editMs = await edit(api, { sourceId, id, source, before: status.revision });
    return {
      name: row.name,
      answer: { status: answer.status, body: (answer.body as unknown) ?? answer.text },
      bytes,
      firstMs,
      editMs,
    };
  } finally {
    await api.expect('DELETE', `/api/functions/${id}`);
    await api.expect('DELETE', `/api/sources/${sourceId}`);
  }
}

async function statusOf(api: ApiClient, id: string): Promise<Status> {
  return ((await api.expect('GET', `/api/functions/${id}`)).body as { function: { status: Status } }).function.status;
}

async function finalStatus(api: ApiClient, id: string): Promise<Status> {
  return eventually(async () => {
    const status = await statusOf(api, id);
    if (!status.ready && UNDER_WAY.has(status.reason))
      throw new Error(`the function is still ${status.reason}: ${status.message}`);
    return status;
  }, READY_DEADLINE_MS);
}

async function edit(
  api: ApiClient,
  made: { sourceId: string; id: string; source: SourceOfRow; before: string | null },
): Promise<number> {
  const { handler, files } = made.source;
  const since = performance.now();
  await api.upload(made.sourceId, handler, `${files[handler] ?? ''}\nObject.assign(globalThis, { edited: true });\n`);
  await eventually(async () => {
    const status = await statusOf(api, made.id);
    if (!status.ready || status.revision === made.before)
      throw new Error(`the edit is not served: ${status.reason}: ${status.message}`);
  }, READY_DEADLINE_MS);
  return performance.now() - since;
}

/** The artifact lies in the content store by its digest, which is the revision. */
async function artifactBytes({ dataDirectory }: Service, revision: string): Promise<number> {
  return (await stat(path.join(dataDirectory, 'content/blobs', revision.slice(0, 2), revision.slice(2)))).size;
}
