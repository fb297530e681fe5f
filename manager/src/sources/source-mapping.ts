import type { Confidential } from '@wherry/core/resources/confidential.ts';
import { REDACTED } from '@wherry/core/confidential/confidential-fields.ts';
import { displayName, type CodeSourceResource } from '@wherry/core/resources/kinds.ts';
import { timesOf } from '../object-access/shape.ts';
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
    ...NEVER_SYNCED,
    ...timesOf(source),
  };
}

/** What can be done with a source. */
export function sourceStatusView(source: CodeSourceResource): SourceStatusView {
  const { spec } = source;
  return {
    isSyncable: spec.type === 'git' && spec.enabled,
    isEditable: spec.type === 'manual' && spec.enabled,
    isSyncing: false,
    ...NEVER_SYNCED,
    revision: revisionOf(source),
  };
}

/** Git sources are not supported yet. */
const NEVER_SYNCED = { lastSyncAt: null, lastSyncStartedAt: null, lastSyncError: null } as const;

/** The digest of a source's head. */
const revisionOf = ({ spec }: CodeSourceResource): string | null => spec.manual?.tree ?? null;

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
