/**
 * One promise of the interface: a request, and what answers it. Every text of a row may contain `<name>`, which stands
 * for what an earlier row of the same table keeps under that name.
 */
export interface Row {
  /** The promise, in the words of the specification. */
  says: string;
  /** A body that is an object is sent as JSON; text and a Buffer are sent as they are. */
  sends: readonly [method: string, target: string, body?: object | string | undefined];
  /** Of the request. */
  headers?: Record<string, string>;
  /** The management key on the management port, and nobody on the function port, unless specified otherwise. */
  as?: Caller;
  /** The port, where the target does not say it: everything but `/run` goes to the management port. */
  port?: 'function';
  /** The loopback address that the request comes from; each has invalid keys of its own. */
  from?: string;
  /** The status. */
  answers: number;
  /** The code of an error body. */
  code?: string;
  /** What the body has among its fields, and what it has whole. */
  body?: unknown;
  whole?: unknown;
  /** The body that is not JSON, or a part of it. */
  text?: string | RegExp;
  /** Headers of the answer; undefined for one that is absent. */
  with?: Record<string, unknown>;
  /** Texts that are nowhere in the body. */
  hides?: readonly string[];
  /** What later rows need, by name: the path of a field of the body, `@` and a header, or a part of a body that is text. */
  keeps?: Record<string, string | RegExp>;
  /** The change before it takes effect in a moment: the request is repeated until it does, or for so many milliseconds. */
  soon?: true | number;
  /** A stream of events does not end: the text after which no more is read. */
  readsUntil?: string;
  /** Limits that it proves, as docs/reference/limits.md calls them. */
  limit?: string;
  /** Why it is not for a cluster. */
  oneMachine?: string;
}

/** Who sends a request: nobody, whoever has a key, or whoever has signed in under a name of `keeps`. */
type Caller = 'nobody' | { key: string } | { session: string };

/** Rows that build on each other, in this order, and on those of no other table. */
export interface Table {
  /** The heading in the specification. */
  title: string;
  /** Whether Kubernetes can make a difference, so that the rows have to hold in a cluster too. */
  inCluster: boolean;
  rows: readonly Row[];
}

/** The same promises for many values. */
export function each<T>(values: readonly T[], rowsFor: (value: T) => Row | readonly Row[]): Row[] {
  return values.flatMap(rowsFor);
}
