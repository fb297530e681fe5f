import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { watchMountedValue, type MountedValue } from '../mounted-value.ts';
import { StartError } from '../start-error.ts';

/** PEM texts, by the names that Node's TLS takes them under. */
export interface TlsMaterial {
  /** The certificates to trust, one after the other: old and new while the authority rotates. */
  ca: string;
  cert: string;
  key: string;
}

/** Servers hand new material to `setSecureContext`, clients use it at their next connection. */
export type TlsFiles = MountedValue<TlsMaterial>;

interface TlsFilesOptions {
  /** Holds `tls.crt`, `tls.key` and `ca.crt`: a mounted Secret. */
  directory: string;
  clock: Clock;
  logger: Logger;
}

/**
 * Reads a program's certificate, key and authority, and again when they change. An incomplete state (files of two
 * generations, a truncated one) is skipped: the last complete one stays active.
 * @throws StartError that names the folder, and what is wrong there, when the first state is incomplete.
 */
export async function watchTlsFiles({ directory, clock, logger }: TlsFilesOptions): Promise<TlsFiles> {
  return watchMountedValue({
    first: await readAtFirst(directory),
    read: () => readTlsFiles(directory),
    isSame,
    onNews: () => logger.info({ directory }, 'new certificates are active'),
    onProblem: (problem) =>
      logger.warn({ directory, problem }, 'the new certificates cannot be used; the old ones stay active'),
    clock,
    logger,
  });
}

async function readAtFirst(directory: string): Promise<TlsMaterial> {
  try {
    return await readTlsFiles(directory);
  } catch (error) {
    throw new StartError(
      `WHERRY_TLS_DIRECTORY: ${directory} must contain tls.crt, tls.key and ca.crt (${(error as Error).message})`,
      error,
    );
  }
}

/** @throws where a file is missing, is not PEM, or the key is not the certificate's. */
async function readTlsFiles(directory: string): Promise<TlsMaterial> {
  const read = (name: string): Promise<string> => readFile(path.join(directory, name), 'utf8');
  const [cert, key, ca] = await Promise.all([read('tls.crt'), read('tls.key'), read('ca.crt')]);
  const material = { ca, cert, key };
  checkCertificate('ca.crt', ca);
  checkCertificate('tls.crt', cert);
  // Fails for an invalid key, or one of another certificate.
  createSecureContext(material);
  return material;
}

function checkCertificate(name: string, text: string): void {
  try {
    new X509Certificate(text);
  } catch {
    throw new Error(`${name} contains no certificate`);
  }
}

const isSame = (a: TlsMaterial, b: TlsMaterial): boolean => a.ca === b.ca && a.cert === b.cert && a.key === b.key;
