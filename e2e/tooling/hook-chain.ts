import type { addEventHandler } from 'jest-circus';
import type { Runnable } from './deadline.ts';

type Handler = Parameters<typeof addEventHandler>[0];
export type CircusEvent = Parameters<Handler>[0];
export type Block = Parameters<Handler>[1]['currentDescribeBlock'];
type HookType = Block['hooks'][number]['type'];

interface BlockHooks extends Record<HookType, Runnable[]> {
  /** The outcome of its `beforeAll`, once its first test needed it. */
  ready?: Promise<void>;
}

/**
 * The hooks of a file's blocks, in jest's order: those before a block's tests run when its first test does. When one
 * fails, its tests fail with its error and are not run, no later hook before them either; cleanup hooks still run.
 */
export class HookChain {
  readonly #hooks = new WeakMap<Block, BlockHooks>();

  /** @returns what is to run when all tests of the block have ended, for a hook of that type */
  add(block: Block, type: HookType, hook: Runnable): Runnable | undefined {
    const hooks = this.#of(block);
    hooks[type].push(hook);
    if (type !== 'afterAll') return undefined;
    // Where no test ran, nothing was set up.
    return () => (hooks.ready === undefined ? undefined : hook());
  }

  /** Runs a test of the block with all hooks that it has. @throws what failed */
  async run(block: Block, body: Runnable): Promise<void> {
    const blocks = lineage(block);
    for (const one of blocks) await this.#ready(one);
    const errors = [await failureOf(() => this.#before(blocks, body))];
    for (const one of blocks.reverse()) {
      for (const hook of this.#of(one).afterEach) errors.push(await failureOf(() => named('afterEach failed', hook)));
    }
    throwAll(errors.filter((error) => error !== undefined));
  }

  #ready(block: Block): Promise<void> {
    const hooks = this.#of(block);
    hooks.ready ??= (async () => {
      for (const hook of hooks.beforeAll) await named('beforeAll failed, so this test was not run', hook);
    })();
    return hooks.ready;
  }

  async #before(blocks: readonly Block[], body: Runnable): Promise<void> {
    for (const hook of blocks.flatMap((block) => this.#of(block).beforeEach)) {
      await named('beforeEach failed, so this test was not run', hook);
    }
    await body();
  }

  #of(block: Block): BlockHooks {
    const hooks = this.#hooks.get(block) ?? { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] };
    this.#hooks.set(block, hooks);
    return hooks;
  }
}

/** The block and those around it, the outermost first. */
function lineage(block: Block): Block[] {
  return block.parent === undefined ? [block] : [...lineage(block.parent), block];
}

async function failureOf(run: Runnable): Promise<Error | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(`thrown: ${String(error)}`);
  }
}

/** Runs a hook; its failure names it. */
async function named(what: string, hook: Runnable): Promise<void> {
  const cause = await failureOf(hook);
  if (cause === undefined) return;
  const error = new Error(`${what}: ${cause.message}`, { cause });
  // The runner prints the stack alone.
  error.stack = `${what}: ${cause.stack ?? cause.message}`;
  throw error;
}

function throwAll(errors: readonly Error[]): void {
  const [first] = errors;
  if (first === undefined) return;
  if (errors.length === 1) throw first;
  const all = new AggregateError(errors, errors.map(({ message }) => message).join('\n'));
  all.stack = errors.map(({ stack, message }) => stack ?? message).join('\n');
  throw all;
}
