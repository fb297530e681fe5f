import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Principal } from '../http/principal.ts';

/** One act (M9): who did what to which object with which result. It never holds a value. */
export interface AuditRecord {
  actor: Principal | undefined;
  /** The operation's id. */
  action: string;
  /** What the path named: ids, never bodies. */
  object: Record<string, string>;
  /** The status that was answered. */
  result: number;
  requestId: string;
}

/** Where records of writes and of reads of values go. */
export interface AuditLog {
  record(record: AuditRecord): void;
}

/** Records as lines of the service's own log. */
export function createLoggedAudit(logger: Logger): AuditLog {
  const lines = logger.child({ audit: true });
  return {
    record: ({ actor, ...rest }) => lines.info({ actor: nameOf(actor), ...rest }, 'audit'),
  };
}

function nameOf(actor: Principal | undefined): object {
  if (actor === undefined) return { type: 'anonymous' };
  return { type: actor.type, id: actor.id };
}
