import { isDeepStrictEqual } from 'node:util';
import { fc } from '../properties.ts';
import { isDomainError, type ErrorCode } from '@wherry/core/errors.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Resource } from '@wherry/core/resources/kinds.ts';
import type { OpenedStore } from './resource-store-samples.ts';

const KINDS = ['KeyGroup', 'CodeSource'] as const;
const NAMES = ['a', 'b', 'c'];
const FINALIZERS = ['wherry.dev/one', 'wherry.dev/two'];

/** One step of a random history. `stale` sends an earlier state of the object, where there is one. */
interface Step {
  act: 'create' | 'update' | 'updateStatus' | 'delete';
  kind: (typeof KINDS)[number];
  name: string;
  text: string;
  finalizers: string[];
  stale: boolean;
}

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom('create', 'update', 'update', 'updateStatus', 'delete'),
  kind: fc.constantFrom(...KINDS),
  name: fc.constantFrom(...NAMES),
  text: fc.constantFrom('x', 'y'),
  finalizers: fc.subarray(FINALIZERS),
  stale: fc.boolean(),
});

/** What the model knows about an object: everything but the values that a store generates. */
interface Known {
  spec: object;
  status: object;
  finalizers: string[];
  generation: number;
  deleting: boolean;
  /** Counts its writes; stands for the resourceVersion. */
  write: number;
}

/** The outcome of a step: the object's new state, or that it is gone, or the refusal. */
type Outcome = Known | 'gone' | ErrorCode;

/** Written last: where it arrives, a watch has delivered all. */
const END = 'z-end';
/** From here a watch starts with the existing objects. */
const NOTHING = { resourceVersion: '0', objects: new Map<string, Resource>() };

const same = isDeepStrictEqual;
const id = (step: Step) => `${step.kind}/${step.name}`;
const key = (object: Resource) => `${object.kind}/${object.metadata.name}`;
const specOf = (step: Pick<Step, 'kind' | 'text'>) =>
  step.kind === 'KeyGroup' ? { description: step.text } : { displayName: step.text, type: 'manual', enabled: true };
const statusOf = (step: Step) =>
  step.kind === 'KeyGroup' ? { keys: step.text === 'x' ? 1 : 2 } : { shortTree: step.text };

/** The slow, obvious store: a table, and the rules one after the other. */
class Model {
  readonly objects = new Map<string, Known>();

  /** `fresh`: the step sends the current state. */
  play(step: Step, fresh: boolean): Outcome {
    const known = this.objects.get(id(step));
    if (step.act === 'create') return this.#create(step, known);
    if (known === undefined) return 'not_found';
    if (!fresh) return 'conflict';
    const write = known.write + 1;
    if (step.act === 'updateStatus') {
      return same(known.status, statusOf(step)) ? known : this.#put(step, { ...known, status: statusOf(step), write });
    }
    return step.act === 'update' ? this.#update(step, known) : this.#delete(step, known);
  }

  #create(step: Step, known: Known | undefined): Outcome {
    if (known !== undefined) return 'conflict';
    return this.#put(step, {
      spec: specOf(step),
      status: {},
      finalizers: step.finalizers,
      generation: 1,
      deleting: false,
      write: 1,
    });
  }

  #update(step: Step, known: Known): Outcome {
    if (known.deleting && step.finalizers.some((finalizer) => !known.finalizers.includes(finalizer)))
      return 'validation_failed';
    if (known.deleting && step.finalizers.length === 0) return this.#remove(step);
    if (same(known.spec, specOf(step)) && same(known.finalizers, step.finalizers)) return known;
    const generation = same(known.spec, specOf(step)) ? known.generation : known.generation + 1;
    return this.#put(step, {
      ...known,
      spec: specOf(step),
      finalizers: step.finalizers,
      generation,
      write: known.write + 1,
    });
  }

  #delete(step: Step, known: Known): Outcome {
    if (known.finalizers.length === 0) return this.#remove(step);
    if (known.deleting) return known;
    return this.#put(step, { ...known, deleting: true, generation: known.generation + 1, write: known.write + 1 });
  }

  #put(step: Step, known: Known): Known {
    this.objects.set(id(step), known);
    return known;
  }

  #remove(step: Step): 'gone' {
    this.objects.delete(id(step));
    return 'gone';
  }
}

/** Random histories against the model, and their watches against the final state. */
export function modelContract(open: () => Promise<OpenedStore>, runs: number): void {
  it('does what the model does, and its watch from any point leads to the final state', async () => {
    const history = fc.array(stepArbitrary, { minLength: 1, maxLength: 40, size: 'max' });
    await fc.assert(
      fc.asyncProperty(history, fc.nat(), async (steps, seed) => {
        const { store, close } = await open();
        try {
          await playAndReplay(store, steps, seed);
        } finally {
          await close();
        }
      }),
      { numRuns: runs },
    );
  }, 120_000);
}

/** A point of the history: the objects at a resourceVersion. */
interface Point {
  resourceVersion: string;
  objects: Map<string, Resource>;
}

async function playAndReplay(store: ResourceStore, steps: Step[], seed: number): Promise<void> {
  const model = new Model();
  const seen = new Map<string, Resource[]>();
  const points: Point[] = [await pointOf(store)];
  for (const step of steps) {
    await playStep(store, step, { model, seen });
    points.push(await pointOf(store));
    expectOnlyWritesToMove(points.at(-2)!, points.at(-1)!);
  }
  for (const kind of KINDS) await store.create({ kind, metadata: { name: END }, spec: specOf({ kind, text: 'x' }) });
  const final = await pointOf(store);
  for (const start of [points[0]!, points[seed % points.length]!, NOTHING]) {
    expect(await replay(store, start)).toEqual(final.objects);
  }
}

/** One step on both; `seen` holds the states of each name, oldest first. */
async function playStep(
  store: ResourceStore,
  step: Step,
  { model, seen }: { model: Model; seen: Map<string, Resource[]> },
): Promise<void> {
  const past = seen.get(id(step)) ?? [];
  const current = past.at(-1);
  const sent = step.stale ? past[0] : current;
  const expected = model.play(step, sent !== undefined && same(sent, current));
  const outcome = await perform(store, step, sent ?? ghost(step));
  const after = await store.get(step.kind, step.name);
  if (typeof outcome === 'object' && after !== undefined) expect(outcome).toEqual(after);
  const states = after === undefined ? past : [...past, after];
  seen.set(id(step), states);
  expect(outcomeOf(outcome, after, states)).toEqual(expected);
}

async function pointOf(store: ResourceStore): Promise<Point> {
  const lists = [await store.list(KINDS[0]), await store.list(KINDS[1])];
  const items = lists.flatMap((list): Resource[] => list.items);
  return { resourceVersion: lists[1]!.resourceVersion, objects: new Map(items.map((item) => [key(item), item])) };
}

function expectOnlyWritesToMove(before: Point, after: Point): void {
  if (same(before.objects, after.objects)) expect(after.resourceVersion).toBe(before.resourceVersion);
  else expect(BigInt(after.resourceVersion) > BigInt(before.resourceVersion)).toBe(true);
}

/** The final state of a client that knew the point and then only watched. */
async function replay(store: ResourceStore, start: Point): Promise<Map<string, Resource>> {
  const objects = new Map(start.objects);
  for (const kind of KINDS) {
    const stop = new AbortController();
    for await (const event of store.watch(kind, { resourceVersion: start.resourceVersion, signal: stop.signal })) {
      if (event.type === 'bookmark') continue;
      expect(objects.has(key(event.object))).toBe(event.type !== 'added');
      if (event.type === 'deleted') objects.delete(key(event.object));
      else objects.set(key(event.object), event.object);
      if (event.object.metadata.name === END) stop.abort();
    }
  }
  return new Map([...objects].sort());
}

/** The outcome in the model's terms. The states of one uid, distinguished by resourceVersion, are its writes. */
function outcomeOf(outcome: Resource | 'done' | ErrorCode, after: Resource | undefined, states: Resource[]): Outcome {
  if (typeof outcome === 'string' && outcome !== 'done') return outcome;
  if (after === undefined) return 'gone';
  const { uid, generation, finalizers = [], deletionTimestamp } = after.metadata;
  const own = states.filter((state) => state.metadata.uid === uid);
  const write = new Set(own.map((state) => state.metadata.resourceVersion)).size;
  return {
    spec: after.spec,
    status: after.status,
    finalizers,
    generation,
    deleting: deletionTimestamp !== undefined,
    write,
  };
}

/** Sends the step; the state, or the code of the refusal. */
async function perform(store: ResourceStore, step: Step, base: Resource): Promise<Resource | 'done' | ErrorCode> {
  const { kind, name, finalizers } = step;
  try {
    if (step.act === 'create') return await store.create({ kind, metadata: { name, finalizers }, spec: specOf(step) });
    if (step.act === 'update') {
      return await store.update({ ...base, metadata: { ...base.metadata, finalizers }, spec: specOf(step) });
    }
    if (step.act === 'updateStatus') return await store.updateStatus({ ...base, status: statusOf(step) });
    const { uid, resourceVersion } = base.metadata;
    await store.delete(kind, name, { uid, resourceVersion });
    return 'done';
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return error.code;
  }
}

/** An object that never was. */
function ghost({ kind, name }: Step): Resource {
  const metadata = { name, namespace: '', uid: '', resourceVersion: '1', generation: 1, creationTimestamp: '' };
  return { apiVersion: 'wherry.dev/v1alpha1', kind, metadata, spec: {}, status: {} };
}
