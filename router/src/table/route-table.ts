import type { RouteSegment } from '@wherry/core/routes/route-pattern.ts';

/** Something that answers a route. */
export interface Routed {
  readonly segments: readonly RouteSegment[];
  readonly methods: readonly string[];
}

/** The most specific route that matches a path: everything that has this shape. */
export interface RouteMatch<T extends Routed> {
  readonly functions: readonly T[];
}

interface Node<T extends Routed> {
  /** The edit that made this node and may still change it in place. */
  readonly edit: symbol;
  literals: Map<string, Node<T>>;
  parameter: Node<T> | undefined;
  /** Those whose route ends here. */
  here: readonly T[];
  /** Those whose route ends here with `*`. */
  rest: readonly T[];
}

/**
 * Routes by decoded segments: an immutable trie. `with` copies the nodes on the way to a change and shares the rest, so
 * a call keeps the table it began with, and a change among 10,000 routes costs well under a millisecond.
 *
 * Precedence, segment by segment from the left: literal over parameter over `*`; a route that ends where the path does
 * is over one that ends with `*` there. The search backtracks, so the result is the most specific of the routes that
 * match the whole path. A search visits each node once at most.
 */
export class RouteTable<T extends Routed> {
  readonly #root: Node<T>;

  private constructor(root: Node<T>) {
    this.#root = root;
  }

  static empty<T extends Routed>(): RouteTable<T> {
    return new RouteTable<T>(newNode(Symbol('empty')));
  }

  /** A table without `removed` (found by identity) and with `added`; this one stays as it is. */
  with(changes: { removed?: Iterable<T>; added?: Iterable<T> }): RouteTable<T> {
    const edit = Symbol('edit');
    let root = this.#root;
    for (const item of changes.removed ?? []) root = change(root, item, { edit, at: 0, add: false }) ?? newNode(edit);
    for (const item of changes.added ?? []) root = change(root, item, { edit, at: 0, add: true }) ?? newNode(edit);
    return new RouteTable(root);
  }

  match(segments: readonly string[]): RouteMatch<T> | undefined {
    const functions = find(this.#root, segments, 0);
    return functions === undefined ? undefined : { functions };
  }
}

function find<T extends Routed>(node: Node<T>, segments: readonly string[], at: number): readonly T[] | undefined {
  const segment = segments[at];
  if (segment === undefined) {
    if (node.here.length > 0) return node.here;
  } else {
    const literal = node.literals.get(segment);
    const byLiteral = literal === undefined ? undefined : find(literal, segments, at + 1);
    if (byLiteral !== undefined) return byLiteral;
    const byParameter = node.parameter === undefined ? undefined : find(node.parameter, segments, at + 1);
    if (byParameter !== undefined) return byParameter;
  }
  return node.rest.length > 0 ? node.rest : undefined;
}

/** @returns the node with the change, undefined when nothing is left in it. */
function change<T extends Routed>(
  old: Node<T> | undefined,
  item: T,
  step: { edit: symbol; at: number; add: boolean },
): Node<T> | undefined {
  if (old === undefined && !step.add) return undefined;
  const node = own(old, step.edit);
  const segment = item.segments[step.at];
  const next = { ...step, at: step.at + 1 };
  if (segment === undefined) node.here = changeList(node.here, item, step.add);
  else if (segment.kind === 'rest') node.rest = changeList(node.rest, item, step.add);
  else if (segment.kind === 'parameter') node.parameter = change(node.parameter, item, next);
  else {
    const child = change(node.literals.get(segment.value), item, next);
    if (child === undefined) node.literals.delete(segment.value);
    else node.literals.set(segment.value, child);
  }
  return isEmpty(node) ? undefined : node;
}

function changeList<T>(list: readonly T[], item: T, add: boolean): readonly T[] {
  return add ? [...list, item] : list.filter((other) => other !== item);
}

function own<T extends Routed>(node: Node<T> | undefined, edit: symbol): Node<T> {
  if (node === undefined) return newNode(edit);
  return node.edit === edit ? node : { ...node, edit, literals: new Map(node.literals) };
}

function newNode<T extends Routed>(edit: symbol): Node<T> {
  return { edit, literals: new Map(), parameter: undefined, here: [], rest: [] };
}

function isEmpty(node: Node<Routed>): boolean {
  return node.literals.size === 0 && node.parameter === undefined && node.here.length === 0 && node.rest.length === 0;
}
