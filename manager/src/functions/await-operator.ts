import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FunctionResource } from '@wherry/core/resources/kinds.ts';
import type { Informer } from '@wherry/service/informer.ts';

interface AwaitOperatorOptions {
  functions: Informer<'Function'>;
  clock: Clock;
  /** 0: does not wait. */
  limitMs: number;
}

/**
 * Delays the answer to a function's write until the operator has processed it, so that whoever created a function can
 * call it at once and sees its status in the answer. It gives up after the limit: the write itself is safe.
 */
export class AwaitOperator {
  readonly #options: AwaitOperatorOptions;

  constructor(options: AwaitOperatorOptions) {
    this.#options = options;
  }

  /** @returns the function as the operator left it, or as it was written when the operator takes longer. */
  async observed(written: FunctionResource): Promise<FunctionResource> {
    const { functions, clock, limitMs } = this.#options;
    if (limitMs === 0) return written;
    const { name, uid, generation } = written.metadata;
    const seen = Promise.withResolvers<FunctionResource | undefined>();
    const look = (object: FunctionResource | undefined): void => {
      if (object?.metadata.uid !== uid) return;
      // A later generation is somebody else's write: there is nothing more to wait for.
      if (object.metadata.generation > generation || object.status.observedGeneration === generation)
        seen.resolve(object);
    };
    const stop = functions.onChange((changed, object) => {
      if (changed === name) look(object);
    });
    const cancel = clock.after(limitMs, () => seen.resolve(undefined));
    look(functions.get(name));
    const found = await seen.promise;
    stop();
    cancel();
    return found ?? written;
  }
}
