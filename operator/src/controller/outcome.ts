/**
 * How a reconcile ended; a throw means retry with backoff. `waiting`: something else will enqueue it again (a watch, a
 * build). `stalled`: a person must change something first, so a retry is of no use.
 */
export type Outcome =
  | { type: 'done' }
  | { type: 'requeueAfter'; ms: number }
  | { type: 'waiting'; for: string }
  | { type: 'stalled'; reason: string };

export const DONE: Outcome = { type: 'done' };
export const waitingFor = (what: string): Outcome => ({ type: 'waiting', for: what });
export const stalled = (reason: string): Outcome => ({ type: 'stalled', reason });
export const requeueAfter = (ms: number): Outcome => ({ type: 'requeueAfter', ms });
