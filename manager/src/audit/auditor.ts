import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ErrorCode } from '@wherry/core/errors.ts';
import type { ActedOn, AnyEndpoint, Audit } from '../http/endpoint.ts';
import type { Principal } from '../http/principal.ts';
import type { AuditActor, AuditObject, AuditRecord, AuditResult } from './audit-record.ts';
import type { AuditTrail } from './audit-trail.ts';
import { withoutKeys, type KnowsKey } from './without-keys.ts';

const DENIED: ReadonlySet<ErrorCode> = new Set(['unauthorized', 'forbidden', 'throttled']);

/** Who makes the request. */
export interface AuditedCaller {
  requestId: string;
  principal: Principal | undefined;
  clientAddress: string | null;
  /** The key that it presents, valid or not. */
  shownKey: string | undefined;
  /** Who it claims to be, where it is not authenticated. */
  claimant: () => AuditActor;
}

/** What a request is for, as its target says. */
interface AuditedTarget {
  params: Record<string, string>;
  query: Record<string, unknown>;
}

/** One request that leaves audit records: an attempt, then either what was done or why not. */
interface Act {
  /** Before anything is done. @throws DomainError `unavailable` while nothing can be recorded. */
  begin(): Promise<void>;
  /** The body has passed validation: its `name` is the name of the object to be created. */
  reads(body: unknown): void;
  /** What the request acts on is known. */
  concerns(object: Partial<AuditObject>): void;
  /** A part of the operation is done, and the rest may fail. @throws DomainError `unavailable`. */
  hasDone(objects: readonly ActedOn[], actor?: AuditActor): Promise<void>;
  /** The operation is done, and may be answered when this resolves. @throws DomainError `unavailable`. */
  done(objects: readonly ActedOn[], actor?: AuditActor): Promise<void>;
  failed(code: ErrorCode): void;
}

/** Makes audit records of requests, as their endpoints declare. */
export class Auditor {
  readonly #trail: AuditTrail;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #knowsKey: KnowsKey;

  /** @param knowsKey whether a text is a key value: such a text appears in no record. */
  constructor(trail: AuditTrail, clock: Pick<Clock, 'now'>, knowsKey: KnowsKey) {
    this.#trail = trail;
    this.#clock = clock;
    this.#knowsKey = knowsKey;
  }

  /** @returns undefined for a request that leaves no record. */
  act(endpoint: AnyEndpoint, caller: AuditedCaller, target: AuditedTarget): Act | undefined {
    const { audit, method } = endpoint;
    if (audit === undefined || !isAudited(audit, target.query)) return undefined;
    const trail = this.#trail;
    // A GET without a flag changes something: it ends a sign-in.
    const isRead = method === 'get' && audit.flag !== undefined;
    const declared = objectOf(audit, target.params);
    const isKey: KnowsKey = (text) => text === caller.shownKey || this.#knowsKey(text);
    let isDone = false;
    const record = (
      { action = audit.action, ...object }: AuditObject & Pick<ActedOn, 'action'>,
      result: AuditResult,
      actor = actorOf(caller),
    ): AuditRecord => ({
      timestamp: this.#clock.now(),
      actor,
      action,
      object: withoutKeys(object, isKey, caller.shownKey),
      result,
      requestId: caller.requestId,
      clientAddress: caller.clientAddress,
    });
    const succeeded = (objects: readonly ActedOn[], actor?: AuditActor): AuditRecord[] =>
      objects.map((object) => record({ ...declared, ...object }, 'ok', actor));
    return {
      begin: () => trail.requireWritable(),
      reads(body) {
        declared.name ??= nameIn(body, audit.nameField);
      },
      concerns(object) {
        Object.assign(declared, object);
      },
      hasDone: (objects, actor) => trail.recordChange(succeeded(objects, actor)),
      async done(objects, actor) {
        isDone = true;
        const records = succeeded(objects, actor);
        await (isRead ? trail.recordRead(records) : trail.recordChange(records));
      },
      failed(code) {
        if (isDone) return;
        const result = DENIED.has(code) ? 'denied' : 'failed';
        trail.recordRefusal(record(declared, result), caller.principal === undefined ? 'unidentified' : 'identified');
      },
    };
  }
}

function isAudited({ flag }: Audit, query: Record<string, unknown>): boolean {
  return flag === undefined || isSet(query[flag]);
}

/** Whether a flag of a query is on; a value that it cannot have counts. */
export function isSet(flag: unknown): boolean {
  return flag !== undefined && flag !== 'false';
}

function objectOf(audit: Audit, params: Record<string, string>): AuditObject {
  const named = (param: string | undefined): string | null => (param === undefined ? null : (params[param] ?? null));
  return { kind: audit.kind, id: named(audit.id), name: named(audit.name) };
}

function nameIn(body: unknown, field = 'name'): string | null {
  const name = (body as Record<string, unknown> | null | undefined)?.[field];
  return typeof name === 'string' ? name : null;
}

function actorOf({ principal, claimant }: AuditedCaller): AuditActor {
  if (principal === undefined) return claimant();
  return { type: principal.type, id: principal.id, name: principal.type === 'key' ? principal.name : principal.email };
}
