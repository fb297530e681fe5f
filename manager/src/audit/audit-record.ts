/** The actor. `id` is null for an unknown caller and for the service itself. */
export interface AuditActor {
  type: 'user' | 'key' | 'kubernetes' | 'system';
  id: string | null;
  name: string;
}

/** The object that was acted on, as the API names it. */
export interface AuditObject {
  kind: string;
  /** Null where nothing was created, and for objects without an id. */
  id: string | null;
  name: string | null;
}

export const AUDIT_RESULTS = ['ok', 'denied', 'failed'] as const;
export type AuditResult = (typeof AUDIT_RESULTS)[number];

/** One act (M9): who did what to which object, from where, with which result. It never contains a value. */
export interface AuditRecord {
  /** Milliseconds since 1970 UTC. */
  timestamp: number;
  actor: AuditActor;
  /** `function.create`: the kind and the verb. `docs/reference/audit.md` lists them. */
  action: string;
  object: AuditObject;
  result: AuditResult;
  requestId: string | null;
  clientAddress: string | null;
}

/** A record as it is kept. */
export interface StoredAuditRecord extends AuditRecord {
  /** Grows with every record, and is never used again. */
  id: number;
}

/** What the service does by itself. */
export function systemRecord(
  timestamp: number,
  fields: Pick<AuditRecord, 'action' | 'object' | 'result'>,
): AuditRecord {
  return {
    timestamp,
    actor: { type: 'system', id: null, name: 'wherry' },
    ...fields,
    requestId: null,
    clientAddress: null,
  };
}
