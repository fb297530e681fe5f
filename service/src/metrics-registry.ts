import { setImmediate } from 'node:timers/promises';
import { Registry } from 'prom-client';

/** Groups of series that are written before the event loop has a turn: some milliseconds. */
const SLICE = 10;

/**
 * What `/metrics` prints: the metrics that are always there, then groups of series that come and go. The text is made
 * in slices, so that a scrape of a thousand functions delays no call.
 */
export class MetricsRegistry {
  /** Of those that are always there. */
  readonly common = new Registry();
  readonly contentType = this.common.contentType;
  readonly #groups = new Set<Registry>();

  add(group: Registry): void {
    this.#groups.add(group);
  }

  /** What is recorded in it afterwards no longer appears in any text. */
  remove(group: Registry): void {
    this.#groups.delete(group);
  }

  async metrics(): Promise<string> {
    const common = await this.common.metrics();
    /** By their help and type: the lines of one metric stand together below them. */
    const families = new Map<string, string[]>();
    let written = 0;
    for (const group of [...this.#groups]) {
      if (written++ % SLICE === 0) await setImmediate();
      // It was removed meanwhile.
      if (this.#groups.has(group)) addTo(families, await group.metrics());
    }
    await setImmediate();
    return [common, ...[...families].flatMap(([head, texts]) => [head, ...texts, ''])].join('\n');
  }
}

/**
 * Adds the lines of each metric to its family: all lines of one as one text, because a thousand functions have many.
 * @param text metrics with an empty line between two: no label's value holds a line feed that is not escaped.
 */
function addTo(families: Map<string, string[]>, text: string): void {
  for (const metric of text.trimEnd().split('\n\n')) {
    const headEnds = metric.indexOf('\n', metric.indexOf('\n') + 1);
    // A metric without values is its head alone.
    const [head, lines] = headEnds < 0 ? [metric, []] : [metric.slice(0, headEnds), [metric.slice(headEnds + 1)]];
    const family = families.get(head);
    if (family === undefined) families.set(head, lines);
    else family.push(...lines);
  }
}
