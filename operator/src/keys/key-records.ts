import type { KeyObject } from 'node:crypto';
import type { RouterKey } from '@wherry/core/feed/messages.ts';
import { confidentialValues } from '@wherry/core/confidential/confidential-fields.ts';
import { routerKeys } from '@wherry/core/confidential/usable-key.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import { displayName, type ApiKeyResource, type KeyGroupResource } from '@wherry/core/resources/kinds.ts';
import type { Caches } from '../informers/caches.ts';

/** A key and its records for routers, one a value; none for a key that they must not accept. */
interface KeyRecord {
  key: ApiKeyResource;
  group: string | undefined;
  records: readonly RouterKey[];
}

/** Decrypts each state of a key once: decrypting takes longer than everything else, and there may be 100,000 keys. */
export interface KeyRecords {
  /**
   * Of its current value, then of its previous one; none for a key that is being deleted, whose group is gone or whose
   * value cannot be read.
   */
  of(name: string): readonly RouterKey[];
}

interface KeyRecordsOptions {
  /** The reader's keys: what could not be decrypted before may be after a change. */
  keyRing: Pick<KeyRing, 'onChange'>;
  caches: Caches;
  reader: ConfidentialReader;
  /** The Secrets that the reader follows. */
  referencedSecrets: ReferencedSecrets;
  digestKey: KeyObject;
}

const NONE: readonly RouterKey[] = [];

export function createKeyRecords({
  caches,
  reader,
  referencedSecrets,
  keyRing,
  digestKey,
}: KeyRecordsOptions): KeyRecords & { stop(): void } {
  const known = new Map<string, KeyRecord>();
  caches.keys.onChange((name, key) => (key === undefined ? void known.delete(name) : undefined));
  const stops = [
    referencedSecrets.onChange((secret) => caches.keysByReference.names(secret).forEach((name) => known.delete(name))),
    keyRing.onChange(() => {
      for (const [name, { key, records }] of known)
        if (records.length < confidentialValues(key).length) known.delete(name);
    }),
  ];

  return {
    stop: () => stops.forEach((stop) => stop()),
    of(name) {
      const key = caches.keys.get(name);
      if (key === undefined) return NONE;
      const group = caches.groups.get(key.spec.keyGroup);
      const last = known.get(name);
      if (last?.key === key && last.group === groupFace(group)) return last.records;
      const records = routerKeys(key, group, reader, digestKey);
      known.set(name, { key, group: groupFace(group), records });
      return records;
    },
  };
}

/** The only part of a group that its keys depend on: its status changes with every key. */
export function groupFace(group: KeyGroupResource | undefined): string | undefined {
  return (
    group &&
    JSON.stringify([displayName(group), group.metadata.deletionTimestamp, group.spec.rateLimit, group.spec.dailyQuota])
  );
}
