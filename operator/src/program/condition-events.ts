import { findCondition, isAsDesired, type ConditionType, type Reason } from '@wherry/core/resources/conditions.ts';
import type { Events, ObjectEvent } from '@wherry/core/ports/events.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import type { Condition } from '@wherry/core/resources/meta.ts';

/** The conditions that people look for with `kubectl describe`, the most informative first. */
const RECORDED: ConditionType[] = ['Ready', 'CodeReady', 'RouteAccepted'];
/** Kinds with possibly very many objects: that one is healthy from the start is not worth an event. */
const MANY: Kind[] = ['KeyGroup', 'ApiKey', 'FunctionSecret', 'Settings'];

/**
 * The store, whose status writes are recorded as events where they change a condition: under the condition's own
 * reason.
 * @param before the object as it is known, with the conditions that it had.
 */
export function withConditionEvents(
  store: ResourceStore,
  events: Events,
  before: (kind: Kind, name: string) => Resource | undefined,
): ResourceStore {
  return {
    namespace: store.namespace,
    get: (kind, name) => store.get(kind, name),
    list: (kind) => store.list(kind),
    create: (object) => store.create(object),
    update: (object) => store.update(object),
    delete: (kind, name, preconditions) => store.delete(kind, name, preconditions),
    watch: (kind, options) => store.watch(kind, options),
    async updateStatus(object) {
      const had = conditionsOf(before(object.kind, object.metadata.name));
      const written = await store.updateStatus(object);
      const has = conditionsOf(object);
      const quiet = MANY.includes(object.kind) && had.length === 0 && has.every(({ status }) => status === 'True');
      for (const event of quiet ? [] : eventsOf(had, has)) events.record(written, event);
      return written;
    },
  };
}

function conditionsOf(resource: Resource | undefined): Condition[] {
  return (resource?.status as { conditions?: Condition[] } | undefined)?.conditions ?? [];
}

/** One event a reason: `Ready` mostly says what another condition says. Pure. */
function eventsOf(before: Condition[], after: Condition[]): ObjectEvent[] {
  const events = new Map<string, ObjectEvent>();
  for (const type of RECORDED) {
    const [had, has] = [findCondition(before, type), findCondition(after, type)];
    if (has === undefined || (had?.status === has.status && had.reason === has.reason)) continue;
    if (events.has(has.reason)) continue;
    events.set(has.reason, {
      type: has.status === 'False' && !isAsDesired(has.reason as Reason) ? 'Warning' : 'Normal',
      reason: has.reason as Reason,
      message: has.message || `${type} is ${has.status}.`,
    });
  }
  return [...events.values()];
}
