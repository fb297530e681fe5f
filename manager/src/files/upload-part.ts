import type { IncomingMessage } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import { MIMEType } from 'node:util';
import busboy from 'busboy';
import { DomainError, invalid, isDomainError } from '@wherry/core/errors.ts';
import { createSemaphore, type Semaphore } from '@wherry/service/semaphore.ts';
import { PartsAsStreams } from './parts-as-streams.ts';

/** Parts that are stored at once: each has a file open. More than one, so that a form of small files is not slow. */
const PARTS_AT_ONCE = 8;

/** One part of a multipart form. `filename` is empty where it has none. Whoever reads the content counts its bytes. */
interface FormPart {
  name: string;
  filename: string;
  content: AsyncIterable<Uint8Array>;
}

interface FormOptions {
  maxParts: number;
  /** Limit on the bytes of the whole form; without it, only the limits of its parts apply. */
  maxBytes?: number;
}

/**
 * Reads a multipart form part by part, as it comes: no part is held in memory (M10).
 * @param take must resolve when it is done with the part's content; its error ends the form.
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
  const slots = createSemaphore(PARTS_AT_ONCE);
  const stopped = new AbortController();
  const running: Promise<void>[] = [];
  const fail = (error: unknown): void =>
    failed.reject(isDomainError(error) ? error : invalid('The multipart form is malformed or cut short.'));
  const takeInTurn = async (part: FormPart): Promise<void> => {
    const release = await slots.acquire(stopped.signal);
    try {
      await take(part);
    } finally {
      release();
    }
  };
  const accept = (part: FormPart): void => {
    const done = takeInTurn(part);
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
  // Every part comes as a stream: busboy would not stream a part that it considers a field.
  parser.on('fieldsLimit', () => fail(undefined));
  parser.on('error', fail);
  parser.on('close', () => ended.resolve(undefined));
  request.on('error', fail);
  const { maxBytes = Infinity } = options;
  let received = 0;
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > maxBytes) fail(new DomainError('too_large', `The form exceeds the limit of ${maxBytes} bytes.`));
  });
  const gate = passInTurn(slots, stopped.signal);
  gate.on('error', fail);
  request.pipe(parts).pipe(gate).pipe(parser);
  try {
    await Promise.race([ended.promise.then(() => Promise.all(running)), failed.promise]);
  } catch (error) {
    stopped.abort();
    request.unpipe(parts);
    parts.destroy();
    gate.destroy();
    parser.destroy();
    await Promise.allSettled(running);
    throw error;
  }
}

/**
 * Passes on what follows once all parts before it have their turn, so that few wait in memory. Only the last of those may
 * need it, and the slots are several: the others end, and free theirs.
 */
function passInTurn(slots: Semaphore, signal: AbortSignal): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      slots.acquire(signal).then((release) => {
        release();
        done(null, chunk);
      }, done);
    },
  });
}

function createParser(
  request: IncomingMessage,
  { maxParts }: FormOptions,
): { parser: busboy.Busboy; parts: PartsAsStreams } {
  try {
    const boundary = new MIMEType(request.headers['content-type'] ?? '').params.get('boundary') ?? '';
    // busboy says that the limit of parts is reached with the last of them, that of files with the one after it.
    const limits = { fields: 0, files: maxParts, parts: maxParts + 1, headerPairs: 100 };
    const parser = busboy({ headers: request.headers, preservePath: true, defParamCharset: 'utf8', limits });
    return { parser, parts: new PartsAsStreams(boundary) };
  } catch {
    throw invalid('The multipart form has no boundary.');
  }
}

export function tooLarge(limit: number): DomainError {
  return new DomainError('too_large', `The file exceeds the limit of ${limit} bytes (setting files.max-size-bytes).`);
}
