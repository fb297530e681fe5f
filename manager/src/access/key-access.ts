import type { KeyObject } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { keyDigest, sameDigest } from '@wherry/core/crypto/key-digest.ts';
import { routerKey } from '@wherry/core/keys/usable-key.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { ConfidentialReader } from '@wherry/core/resources/confidential-reader.ts';
import { displayName, type ApiKeyResource } from '@wherry/core/resources/kinds.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { accessGroups, settingValue } from '@wherry/core/settings-definitions.ts';
import type { Informer } from '@wherry/service/informer.ts';
import type { AuditActor } from '../audit/audit-record.ts';
import type { Principal } from '../http/principal.ts';

interface KeyAccessOptions {
  keys: Informer<'ApiKey'>;
  groups: Informer<'KeyGroup'>;
  settings: Informer<'Settings'>;
  reader: ConfidentialReader;
  /** Those that the reader follows. */
  referencedSecrets: ReferencedSecrets;
  /** Notifies when the key ring holds other keys: what did not open before may open now. */
  onKeyRingChange?: (callback: () => void) => () => void;
  digestKey: KeyObject;
  clock: Clock;
  logger: Logger;
}

/** Which keys there are, by their values' digests, and which of them may use the management API. */
export interface KeyAccess {
  /** The caller that a request's `X-API-Key` stands for; undefined when there is none or it opens nothing. */
  authenticate: (request: IncomingMessage) => Principal | undefined;
  /** Whose key a request shows that opens nothing, for the audit records; undefined where it shows none. */
  claimantOf: (request: IncomingMessage) => AuditActor | undefined;
  /** The id of the key that has this value, be it usable or not. */
  holderOf(value: string): string | undefined;
  /** Stops following keys and Secrets. */
  stop(): void;
}

/**
 * Keeps digests current from the informer of keys and from the Secrets that they refer to; groups, settings, expiry and
 * the enabled flag are read at each call, so that a change of any of them holds as soon as its informer has seen it.
 */
export function createKeyAccess(options: KeyAccessOptions): KeyAccess {
  const { keys, reader, digestKey } = options;
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

  const holderOf = (value: string): string | undefined => [...(idsBy.get(keyDigest(digestKey, value)) ?? [])][0];

  learnAll();
  const stops = [keys.onChange(learn), options.referencedSecrets.onChange(learnAgain)];
  if (options.onKeyRingChange !== undefined) stops.push(options.onKeyRingChange(learnAll));

  return {
    stop: () => stops.forEach((stop) => stop()),
    holderOf,
    claimantOf(request) {
      const value = shownKey(request);
      if (value === undefined) return undefined;
      const key = keys.get(holderOf(value) ?? '');
      return key === undefined ? UNKNOWN_KEY : { type: 'key', id: key.metadata.name, name: displayName(key) };
    },
    authenticate(request) {
      const value = shownKey(request);
      if (value === undefined) return undefined;
      const digest = keyDigest(digestKey, value);
      for (const id of idsBy.get(digest) ?? []) {
        const principal = principalOf(keys.get(id), digest, options);
        if (principal !== undefined) return principal;
      }
      return undefined;
    },
  };
}

const UNKNOWN_KEY: AuditActor = { type: 'key', id: null, name: '(unknown key)' };

function shownKey(request: IncomingMessage): string | undefined {
  const value = request.headers['x-api-key'];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function principalOf(
  key: ApiKeyResource | undefined,
  digest: string,
  options: KeyAccessOptions,
): Principal | undefined {
  if (key === undefined) return undefined;
  const usable = routerKey(key, options.groups.get(key.spec.keyGroup), options.reader, options.digestKey);
  if (usable === undefined || !sameDigest(usable.digest, digest)) return undefined;
  if (usable.expiresAt !== null && usable.expiresAt <= options.clock.now()) return undefined;
  const values = options.settings.get(SETTINGS_NAME)?.spec.values;
  if (!accessGroups(settingValue(values, 'api.access-groups')).includes(usable.groupId)) return undefined;
  return { type: 'key', id: usable.id, name: usable.name, groupId: usable.groupId, groupName: usable.groupName };
}
