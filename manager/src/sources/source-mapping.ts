import { findCondition } from '@wherry/core/resources/conditions.ts';
import type { Confidential } from '@wherry/core/resources/confidential.ts';
import { REDACTED } from '@wherry/core/confidential/confidential-fields.ts';
import { displayName, type CodeSourceResource } from '@wherry/core/resources/kinds.ts';
import { isoOrNull, timesOf } from '../object-access/shape.ts';
import type { SourceStatusView, SourceView } from './source-schemas.ts';

/** A source as the API shows it. */
export function sourceView(source: CodeSourceResource): SourceView {
  const { spec, metadata } = source;
  return {
    id: metadata.name,
    name: displayName(source),
    type: spec.type,
    typeSettings: typeSettingsOf(source),
    syncSettings: syncSettingsOf(source),
    enabled: spec.enabled,
    revision: revisionOf(source),
    ...syncTimes(source),
    ...timesOf(source),
  };
}

/** What can be done with a source, and how its last sync went. */
export function sourceStatusView(source: CodeSourceResource): SourceStatusView {
  const { spec, status } = source;
  return {
    isSyncable: spec.type === 'git' && spec.enabled,
    isEditable: spec.type === 'manual' && spec.enabled,
    isSyncing: findCondition(status.conditions, 'Syncing')?.status === 'True',
    ...syncTimes(source),
    revision: revisionOf(source),
  };
}

/** Of a manual source the digest of its head; of a git source the commit. */
function revisionOf({ spec, status }: CodeSourceResource): string | null {
  return (spec.type === 'manual' ? spec.manual?.tree : (status.commit ?? status.tree)) ?? null;
}

function typeSettingsOf({ spec: { git } }: CodeSourceResource): SourceView['typeSettings'] {
  if (git === undefined) return {};
  const { authToken, ...plain } = git;
  return { ...plain, ...redacted('authToken', authToken) };
}

function syncSettingsOf({ spec: { type, sync } }: CodeSourceResource): SourceView['syncSettings'] {
  if (type === 'manual') return {};
  return {
    intervalSeconds: sync?.intervalSeconds ?? 0,
    webhookEnabled: sync?.webhook?.enabled ?? false,
    ...redacted('webhookSecret', sync?.webhook?.secret),
  };
}

function redacted(field: string, value: Confidential | undefined): Record<string, string> {
  return value === undefined ? {} : { [field]: REDACTED };
}

function syncTimes({
  status,
}: CodeSourceResource): Pick<SourceView, 'lastSyncAt' | 'lastSyncStartedAt' | 'lastSyncError'> {
  return {
    lastSyncAt: isoOrNull(status.lastSyncAt),
    lastSyncStartedAt: isoOrNull(status.lastSyncStartedAt),
    lastSyncError: status.lastSyncError ?? null,
  };
}
