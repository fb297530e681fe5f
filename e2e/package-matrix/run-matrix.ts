import type { ApiClient } from '../testing/api-client.ts';
import type { Service } from '../testing/embedded-service.ts';
import type { Row } from './matrix.ts';
import { runRow, type Outcome } from './run-row.ts';

/**
 * Runs all rows, one at a time, and prints its progress: a change of any source starts the running builds again, so two at a
 * time would build twice as often.
 * @returns the future outcome of each row, by its name.
 */
export function runMatrix(rows: readonly Row[], service: Service, api: ApiClient): Map<string, Promise<Outcome>> {
  const waiting = rows.map((row) => ({ row, outcome: Promise.withResolvers<Outcome>() }));
  const outcomes = new Map(waiting.map(({ row, outcome }) => [row.name, outcome.promise]));
  // Whoever awaits an outcome gets its failure.
  for (const outcome of outcomes.values()) outcome.catch(() => undefined);
  const work = async (): Promise<void> => {
    for (const [index, { row, outcome }] of waiting.entries()) {
      const result = runRow(row, service, api);
      await result.then(outcome.resolve, outcome.reject);
      console.log(
        `${String(index + 1).padStart(3)}/${rows.length} ${await result.then(line, (error: unknown) => `${row.name}: ${String(error).slice(0, 300)}`)}`,
      );
    }
  };
  void work();
  return outcomes;
}

const line = ({ name, answer, failure, bytes = 0, firstMs = 0, editMs = 0 }: Outcome): string =>
  failure === undefined
    ? `${name}: ${answer?.status ?? 0}, ${Math.round(bytes / 1024)} KiB, first ${Math.round(firstMs)} ms, edit ${Math.round(editMs)} ms`
    : `${name}: ${failure.reason}: ${failure.message.slice(0, 300)}`;
