import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from './api-client.ts';
import { FUNCTIONS_NAMESPACE } from './function-objects.ts';

/** A function as one event of a watch has it. */
export interface SeenFunction {
  generation: number;
  status: any;
}

/** The condition of a type; undefined: the status has none. */
export function conditionOf(
  { status }: SeenFunction,
  type: string,
): { status: string; reason: string; message: string; observedGeneration: number } | undefined {
  return status.conditions?.find((condition: { type: string }) => condition.type === type);
}

/** Whether kubectl, and what waits as kstatus does, takes the function for ready. */
export function isReady(seen: SeenFunction): boolean {
  return conditionOf(seen, 'Ready')?.status === 'True' && seen.status.observedGeneration === seen.generation;
}

/** Every state of a function from now on, as `kubectl get fn --watch` prints them. */
export class WatchedFunction {
  readonly seen: SeenFunction[] = [];
  readonly #kubectl: ChildProcess;

  constructor(cluster: Cluster, name: string) {
    const output = 'jsonpath={.metadata.generation} {.status}{"\\n"}';
    this.#kubectl = cluster.start(
      'kubectl',
      ['get', 'fn', name, `--namespace=${FUNCTIONS_NAMESPACE}`, '--watch', '-o', output],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    if (this.#kubectl.stdout === null) throw new Error('kubectl has no standard output');
    createInterface({ input: this.#kubectl.stdout }).on('line', (line) => {
      const at = line.indexOf(' ');
      this.seen.push({ generation: Number(line.slice(0, at)), status: JSON.parse(line.slice(at)) });
    });
  }

  /** The first state from `from` on of which it holds. @throws Error with the last state where there is none in time */
  until(holds: (seen: SeenFunction) => boolean, from = 0): Promise<SeenFunction> {
    return eventually(() => {
      const found = this.seen.slice(from).find(holds);
      if (found === undefined) throw new Error(`the function is not so yet: ${JSON.stringify(this.seen.at(-1))}`);
      return found;
    });
  }

  stop(): void {
    this.#kubectl.kill();
  }
}
