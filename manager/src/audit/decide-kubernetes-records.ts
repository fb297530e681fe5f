import type { ObjectWriter, WrittenObject } from '@wherry/core/ports/object-writes.ts';
import type { Kind } from '@wherry/core/resources/kinds.ts';
import type { AuditRecord } from './audit-record.ts';
import type { OwnWrites } from './own-writes.ts';

/** What Wherry's programs call themselves: the user agent of `kube/src/client`. */
const OWN_MANAGER = 'wherry';
/** A client that takes fields away is in no managed fields, and neither is one that deletes. */
const UNKNOWN = '(unknown)';

/** As the actions of the API name them. */
const SUBJECTS: Record<Kind, string> = {
  Function: 'function',
  CodeSource: 'source',
  KeyGroup: 'key-group',
  ApiKey: 'key',
  FunctionSecret: 'secret',
  Settings: 'settings',
};

interface Observed {
  /** Undefined where it has not been seen yet. */
  previous: WrittenObject | undefined;
  /** Undefined where it is gone. */
  current: WrittenObject | undefined;
  /** The first look at all objects: what happened before, and when, only their managed fields know. */
  isFirst: boolean;
  own: Pick<OwnWrites, 'wrote' | 'deleted'>;
  now: number;
}

/** What others than this process did to an object between two looks at it, as far as it can be known. */
export function decideKubernetesRecords(observed: Observed): AuditRecord[] {
  const { previous, current, own, now } = observed;
  if (previous !== undefined && previous.metadata.uid !== current?.metadata.uid)
    return [...deletion(previous, undefined, own, now), ...changes({ ...observed, previous: undefined })];
  return changes(observed);
}

function changes({ previous, current, isFirst, own, now }: Observed): AuditRecord[] {
  if (current === undefined) return [];
  const moved = current.writers.filter(
    (writer) =>
      writer.manager !== OWN_MANAGER &&
      hasMoved(writer, previous) &&
      // Of what has no time, nobody can say after a start whether an earlier run has recorded it.
      !(isFirst && writer.time === undefined),
  );
  const records = moved.map((writer) => {
    const isCreation = previous === undefined && !own.wrote(current.metadata.uid, 1);
    return recordOf(current, writer.manager, verbOf(writer, isCreation ? current : undefined), writer.time ?? now);
  });
  const { deletedAt } = current.metadata;
  // Its deletion changes the generation as well.
  if (deletedAt !== undefined)
    return previous?.metadata.deletedAt === undefined
      ? [...records, ...deletion(current, deletedAt, own, now)]
      : records;
  const isExplained = isFirst || moved.some(({ subresource }) => subresource === '');
  return isExplained ? records : [...records, ...unexplained(previous, current, own, now)];
}

/** Generations that neither a managed field nor this process explains. */
function unexplained(
  previous: WrittenObject | undefined,
  current: WrittenObject,
  own: Pick<OwnWrites, 'wrote'>,
  now: number,
): AuditRecord[] {
  const { uid, generation } = current.metadata;
  const known = previous?.metadata.generation ?? 0;
  for (let next = known + 1; next <= generation; next += 1)
    if (!own.wrote(uid, next)) return [recordOf(current, UNKNOWN, known === 0 ? 'create' : 'update', now)];
  return [];
}

function deletion(
  object: WrittenObject,
  deletedAt: number | undefined,
  own: Pick<OwnWrites, 'deleted'>,
  now: number,
): AuditRecord[] {
  const isRecorded = deletedAt === undefined && object.metadata.deletedAt !== undefined;
  if (isRecorded || own.deleted(object.metadata.uid)) return [];
  return [recordOf(object, UNKNOWN, 'delete', deletedAt ?? now)];
}

function hasMoved(writer: ObjectWriter, before: WrittenObject | undefined): boolean {
  return !before?.writers.some(
    ({ manager, operation, subresource, time }) =>
      manager === writer.manager &&
      operation === writer.operation &&
      subresource === writer.subresource &&
      time === writer.time,
  );
}

/** @param created the object where it may be new. */
function verbOf({ operation, subresource, time }: ObjectWriter, created: WrittenObject | undefined): string {
  if (subresource !== '') return `update-${subresource}`;
  if (created !== undefined && time === created.metadata.createdAt) return 'create';
  return operation === 'Apply' ? 'apply' : 'update';
}

function recordOf({ kind, metadata, displayName }: WrittenObject, name: string, verb: string, at: number): AuditRecord {
  return {
    timestamp: at,
    actor: { type: 'kubernetes', id: null, name },
    action: `${SUBJECTS[kind]}.${verb}`,
    object: { kind, id: metadata.name, name: displayName },
    result: 'ok',
    requestId: null,
    clientAddress: null,
  };
}
