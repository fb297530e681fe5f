import type { KeyObject } from 'node:crypto';
import { keyDigest } from '@wherry/core/crypto/key-digest.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import type { ApiKeyResource } from '@wherry/core/resources/kinds.ts';
import type { Informer } from '@wherry/service/informer.ts';

export interface KeyValuesOptions {
  keys: Informer<'ApiKey'>;
  reader: ConfidentialReader;
  /** The Secrets that the reader follows. */
  referencedSecrets: ReferencedSecrets;
  /** Notifies when the key ring changes: what could not be decrypted before may be now. */
  onKeyRingChange?: (callback: () => void) => () => void;
  digestKey: KeyObject;
  logger: Logger;
}

/** The values of all keys, by their digests. */
interface KeyValues {
  /** Undefined for a key whose value cannot be read. */
  digestOf(id: string): string | undefined;
  /** The keys of that value: nearly always one. */
  idsOf(digest: string): string[];
  /** Stops following keys and Secrets. */
  stop(): void;
}

/** Keeps digests current from the informer of keys and from the Secrets that they refer to. */
export function followKeyValues(options: KeyValuesOptions): KeyValues {
  const { keys, reader, digestKey, referencedSecrets } = options;
  const digestOf = new Map<string, { digest: string; envelope: string | undefined }>();
  const idsBy = new Map<string, Set<string>>();

  function forget(id: string): void {
    const known = digestOf.get(id);
    if (known === undefined) return;
    digestOf.delete(id);
    const ids = idsBy.get(known.digest);
    ids?.delete(id);
    if (ids?.size === 0) idsBy.delete(known.digest);
  }

  function learn(id: string, key: ApiKeyResource | undefined): void {
    const envelope = key?.spec.value.encrypted;
    if (envelope !== undefined && digestOf.get(id)?.envelope === envelope) return;
    forget(id);
    if (key === undefined) return;
    const { value, problem } = reader.read(key, 'spec.value');
    if (value === undefined) {
      options.logger.error(
        { key: id, reason: problem.reason },
        `The value of a key cannot be read: calls with it are refused. ${problem.message}`,
      );
      return;
    }
    const digest = keyDigest(digestKey, value);
    digestOf.set(id, { digest, envelope });
    idsBy.set(digest, (idsBy.get(digest) ?? new Set()).add(id));
  }

  function learnAgain(secret: string): void {
    for (const key of keys.list()) if (key.spec.value.secretKeyRef?.name === secret) learn(key.metadata.name, key);
  }

  function learnAll(): void {
    for (const key of keys.list()) learn(key.metadata.name, key);
  }

  learnAll();
  const stops = [keys.onChange(learn), referencedSecrets.onChange(learnAgain), options.onKeyRingChange?.(learnAll)];

  return {
    digestOf: (id) => digestOf.get(id)?.digest,
    idsOf: (digest) => [...(idsBy.get(digest) ?? [])],
    stop: () => stops.forEach((stop) => stop?.()),
  };
}
