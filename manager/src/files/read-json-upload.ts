import type { IncomingMessage } from 'node:http';
import { DomainError, invalid, isDomainError } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { bodyChunks } from '../http/json-body.ts';
import { validate } from '../http/validate.ts';
import { Base64Decoder } from './base64-decoder.ts';
import { ContentScanner } from './content-scanner.ts';
import { fileUploadSchema } from './file-schemas.ts';
import { PendingFile } from './pending-file.ts';
import type { Stored } from './put-file.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/**
 * Stores the file of a JSON body `{content, encoding?}` as it comes (M10). Its encoding may come after the content:
 * until then it is written both as text and decoded from base64; most text stops being base64 in its first line.
 * @param limit bytes of the file.
 * @throws DomainError `too_large`, or `validation_failed` for a malformed body.
 */
export async function readJsonUpload(request: IncomingMessage, content: ContentStore, limit: number): Promise<Stored> {
  const files = { text: new PendingFile(content, limit), base64: new PendingFile(content, limit) };
  try {
    const encoding = await readInto(files, request, 2 * limit + MANAGER_LIMITS.jsonFileOverheadBytes);
    return await (encoding === 'base64' ? files.base64 : files.text).keep();
  } finally {
    await Promise.all([files.text.drop(), files.base64.drop()]);
  }
}

/** @returns the encoding that the body names. */
async function readInto(
  files: { text: PendingFile; base64: PendingFile },
  request: IncomingMessage,
  maxBytes: number,
): Promise<string | null | undefined> {
  const scanner = new ContentScanner();
  const decoder = new Base64Decoder();
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const take = async (chunk?: Buffer): Promise<void> => {
    const text = scanner.push(decodeUtf8(utf8, chunk));
    if (scanner.envelopeLength > MANAGER_LIMITS.jsonBytes)
      throw new DomainError(
        'too_large',
        `The JSON body, without its content, exceeds the limit of ${MANAGER_LIMITS.jsonBytes} bytes.`,
      );
    await Promise.all([writeText(files.text, text), writeBase64(files.base64, () => decoder.push(text))]);
  };
  let length = 0;
  for await (const chunk of bodyChunks(request, maxBytes)) {
    length += chunk.length;
    await take(chunk);
  }
  if (length === 0) throw invalid('A JSON body is required.');
  await take();
  const upload = validate(
    fileUploadSchema,
    scanner.end(),
    'body (to store a JSON file as it is, send application/octet-stream)',
  );
  if (scanner.isCut) files.text.refuse(notUnicode());
  await writeBase64(files.base64, () => void decoder.end());
  return upload.encoding;
}

/** @param chunk none at the end of the body. */
function decodeUtf8(decoder: InstanceType<typeof TextDecoder>, chunk: Buffer | undefined): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw invalid('The body is not well-formed JSON in UTF-8.');
  }
}

async function writeText(file: PendingFile, text: string): Promise<void> {
  if (text === '' || file.isRefused) return;
  if (text.isWellFormed()) await file.write(Buffer.from(text));
  else file.refuse(notUnicode());
}

async function writeBase64(file: PendingFile, decode: () => Buffer | undefined): Promise<void> {
  if (file.isRefused) return;
  try {
    const bytes = decode();
    if (bytes !== undefined && bytes.length > 0) await file.write(bytes);
  } catch (error) {
    if (!isDomainError(error)) throw error;
    file.refuse(error);
  }
}

function notUnicode(): Error {
  return invalid('content: must be well-formed Unicode.', [
    { path: 'content', message: 'must be well-formed Unicode' },
  ]);
}
