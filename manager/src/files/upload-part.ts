import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { MIMEType } from 'node:util';
import busboy from 'busboy';
import { DomainError, invalid, isDomainError } from '@wherry/core/errors.ts';
import { PartsAsStreams } from './parts-as-streams.ts';

/** One part of a multipart form. `filename` is empty where it has none. Who reads the content counts its bytes. */
interface FormPart {
  name: string;
  filename: string;
  content: AsyncIterable<Uint8Array>;
}

interface FormOptions {
  maxParts: number;
  /** Bytes of the whole form; without one, whatever its parts may have. */
  maxBytes?: number;
}

/**
 * Reads a multipart form part by part, as it comes: no part is held in memory (M10).
 * @param take is done with a part's content when it resolves; what it throws ends the form.
 * @throws DomainError `validation_failed` for a form that is malformed or cut short; `too_large`.
 */
export async function readForm(
  request: IncomingMessage,
  options: FormOptions,
  take: (part: FormPart) => Promise<void>,
): Promise<void> {
  const { parser, parts } = createParser(request, options);
  const failed = Promise.withResolvers<never>();
  const ended = Promise.withResolvers<undefined>();
  const running: Promise<void>[] = [];
  const fail = (error: unknown): void =>
    failed.reject(isDomainError(error) ? error : invalid('The multipart form is malformed or cut short.'));
  const accept = (part: FormPart): void => {
    const done = take(part);
    done.catch(fail);
    running.push(done);
  };
  parser.on('file', (name: string | undefined, stream: Readable, { filename }: { filename?: string }) => {
    // Its own errors reach whoever reads it; without a listener one would end the process.
    stream.on('error', () => undefined);
    accept({ name: name ?? '', filename: filename ?? '', content: stream });
  });
  for (const event of ['partsLimit', 'filesLimit'] as const) {
    parser.on(event, () => fail(new DomainError('too_large', `The form has more than ${options.maxParts} parts.`)));
  }
  // Every part comes as a stream: what busboy takes for a field has no delimiter of its own.
  parser.on('fieldsLimit', () => fail(undefined));
  parser.on('error', fail);
  parser.on('close', () => ended.resolve(undefined));
  request.on('error', fail);
  const { maxBytes = Infinity } = options;
  let received = 0;
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > maxBytes) fail(new DomainError('too_large', `The form is over its limit of ${maxBytes} bytes.`));
  });
  request.pipe(parts).pipe(parser);
  try {
    await Promise.race([ended.promise.then(() => Promise.all(running)), failed.promise]);
  } catch (error) {
    request.unpipe(parts);
    parts.destroy();
    parser.destroy();
    await Promise.allSettled(running);
    throw error;
  }
}

function createParser(
  request: IncomingMessage,
  { maxParts }: FormOptions,
): { parser: busboy.Busboy; parts: PartsAsStreams } {
  try {
    const boundary = new MIMEType(request.headers['content-type'] ?? '').params.get('boundary') ?? '';
    const limits = { fields: 0, files: maxParts, parts: maxParts, headerPairs: 100 };
    const parser = busboy({ headers: request.headers, preservePath: true, defParamCharset: 'utf8', limits });
    return { parser, parts: new PartsAsStreams(boundary) };
  } catch {
    throw invalid('The multipart form has no boundary.');
  }
}

export function tooLarge(limit: number): DomainError {
  return new DomainError('too_large', `The file is over the limit of ${limit} bytes (setting files.max-size-bytes).`);
}
