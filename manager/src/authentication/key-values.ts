import type { KeyObject } from 'node:crypto';
import type { ConfidentialField } from '@wherry/core/confidential/confidential-fields.ts';
import { keyDigest } from '@wherry/core/crypto/key-digest.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
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
  /** When it changes, what could not be decrypted before may be now. */
  keyRing: Pick<KeyRing, 'onChange'>;
  digestKey: KeyObject;
  logger: Logger;
}

/** The values of all keys, the previous ones too, by their digests. */
interface KeyValues {
  /** Of the current value. Undefined for a key whose value cannot be read. */
  digestOf(id: string): string | undefined;
  /** The keys that have that value or had it before: nearly always one. */
  idsOf(digest: string): string[];
  /** Stops following keys and Secrets. */
  stop(): void;
}

/** Keeps digests current from the informer of keys and from the Secrets that they refer to. */
export function followKeyValues(options: KeyValuesOptions): KeyValues {
  const { keys, reader, digestKey, referencedSecrets } = options;
  const known = new Map<string, { digests: string[]; envelopes: string | undefined }>();
  const idsBy = new Map<string, Set<string>>();

  function forget(id: string): void {
    const { digests } = known.get(id) ?? { digests: [] };
    known.delete(id);
    for (const digest of digests) {
      const ids = idsBy.get(digest);
      ids?.delete(id);
      if (ids?.size === 0) idsBy.delete(digest);
    }
  }

  function readDigest(key: ApiKeyResource, field: ConfidentialField<'ApiKey'>): string | undefined {
    const { value, problem } = reader.read(key, field);
    if (value !== undefined) return keyDigest(digestKey, value);
    options.logger.error(
      { key: key.metadata.name, field, reason: problem.reason },
      `A value of a key cannot be read: calls with it are refused. ${problem.message}`,
    );
    return undefined;
  }

  /** Of the current value first; none where that cannot be read. */
  function readDigests(key: ApiKeyResource): string[] {
    const current = readDigest(key, 'spec.value');
    if (current === undefined) return [];
    const previous = key.spec.previousValue && readDigest(key, 'spec.previousValue');
    return previous === undefined ? [current] : [current, previous];
  }

  function learn(id: string, key: ApiKeyResource | undefined): void {
    const envelopes = key && envelopesOf(key);
    if (envelopes !== undefined && known.get(id)?.envelopes === envelopes) return;
    forget(id);
    const digests = key === undefined ? [] : readDigests(key);
    if (digests.length > 0) known.set(id, { digests, envelopes });
    for (const digest of digests) idsBy.set(digest, (idsBy.get(digest) ?? new Set()).add(id));
  }

  function learnAgain(secret: string): void {
    for (const key of keys.list()) {
      const { value, previousValue } = key.spec;
      if ([value, previousValue].some((one) => one?.secretKeyRef?.name === secret)) learn(key.metadata.name, key);
    }
  }

  function learnAll(): void {
    for (const key of keys.list()) learn(key.metadata.name, key);
  }

  learnAll();
  const stops = [keys.onChange(learn), referencedSecrets.onChange(learnAgain), options.keyRing.onChange(learnAll)];

  return {
    digestOf: (id) => known.get(id)?.digests[0],
    idsOf: (digest) => [...(idsBy.get(digest) ?? [])],
    stop: () => stops.forEach((stop) => stop()),
  };
}

/** What changes with the values; undefined where they lie in Secrets, which change by themselves. */
function envelopesOf({ spec: { value, previousValue } }: ApiKeyResource): string | undefined {
  if (value.encrypted === undefined || previousValue?.secretKeyRef !== undefined) return undefined;
  return `${value.encrypted} ${previousValue?.encrypted ?? ''}`;
}
