import type { Reason } from '../resources/conditions.ts';
import type { Kind, Resource } from '../resources/kinds.ts';

/**
 * Something that happened to an object, for readers of `kubectl describe`. Messages contain no confidential value.
 */
export interface ObjectEvent {
  type: 'Normal' | 'Warning';
  reason: Reason;
  message: string;
}

/** Where events go. It never blocks and never throws; the same event of an object again is counted, not repeated. */
export interface Events {
  record(object: Resource<Kind>, event: ObjectEvent): void;
}
