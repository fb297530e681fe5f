import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import busboy from 'busboy';
import { DomainError, invalid, isDomainError } from '@wherry/core/errors.ts';

/** One part of a multipart form. A field without a file name has an empty one. */
export interface FormPart {
  name: string;
  filename: string;
  content: AsyncIterable<Uint8Array> | Uint8Array;
}

export interface FormOptions {
  /** Bytes a part may have: a field's are held in memory up to it. A file's are the reader's to count. */
  limit: number;
  maxParts: number;
  /** Bytes of the whole form; without one, its parts' limits count alone. */
  maxBytes?: number;
}

/**
 * Reads a multipart form part by part, as it comes.
 * @param take is done with a part's content when it resolves; what it throws ends the form.
 * @throws DomainError `validation_failed` for a form that is malformed or cut short; `too_large`.
 */
export async function readForm(request: IncomingMessage, options: FormOptions, take: (part: FormPart) => Promise<void>): Promise<void> {
  const parser = createParser(request, options);
  const failed = Promise.withResolvers<never>();
  const ended = Promise.withResolvers<undefined>();
  const running: Promise<void>[] = [];
  const fail = (error: unknown): void => failed.reject(isDomainError(error) ? error : invalid('The multipart form is malformed or cut short.'));
  const accept = (part: FormPart): void => {
    const done = take(part);
    done.catch(fail);
    running.push(done);
  };
  parser.on('file', (name, stream: Readable, { filename }) => {
    // Its own errors reach whoever reads it; without a listener one would end the process.
    stream.on('error', () => undefined);
    accept({ name, filename, content: stream });
  });
  parser.on('field', (name, value, { valueTruncated }) => {
    // Where fields are not taken, that is said instead.
    if (valueTruncated && options.limit > 0) fail(tooLarge(options.limit));
    else if (value.includes('\uFFFD')) fail(invalid(`The part ${name} is not UTF-8: give it a filename, so that it is sent as bytes.`));
    else accept({ name, filename: '', content: Buffer.from(value) });
  });
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
    parser.on(event, () => fail(new DomainError('too_large', `The form has more than ${options.maxParts} parts.`)));
  }
  parser.on('error', fail);
  parser.on('close', () => ended.resolve(undefined));
  request.on('error', fail);
  const { maxBytes = Infinity } = options;
  let received = 0;
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > maxBytes) fail(new DomainError('too_large', `The form is over its limit of ${maxBytes} bytes.`));
  });
  request.pipe(parser);
  try {
    await Promise.race([ended.promise.then(() => Promise.all(running)), failed.promise]);
  } catch (error) {
    request.unpipe(parser);
    parser.destroy();
    await Promise.allSettled(running);
    throw error;
  }
}

function createParser(request: IncomingMessage, { limit, maxParts }: FormOptions): busboy.Busboy {
  try {
    return busboy({
      headers: request.headers,
      preservePath: true,
      defParamCharset: 'utf8',
      limits: { fieldSize: limit + 1, fields: maxParts, files: maxParts, parts: maxParts, headerPairs: 100 },
    });
  } catch {
    throw invalid('The multipart form has no boundary.');
  }
}

export function tooLarge(limit: number): DomainError {
  return new DomainError('too_large', `The file is over the limit of ${limit} bytes (setting files.max-size-bytes).`);
}
