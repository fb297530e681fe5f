import { setImmediate } from 'node:timers/promises';
import { Registry } from 'prom-client';

/** Groups of series that are written before the event loop has a turn: some milliseconds. */
const SLICE = 20;

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
    const texts = [await this.common.metrics()];
    /** By their help and type: the lines of one metric stand together below them. */
    const families = new Map<string, string[]>();
    let written = 0;
    for (const group of [...this.#groups]) {
      if (written++ % SLICE === 0) await setImmediate();
      // It was removed meanwhile.
      if (this.#groups.has(group)) addTo(families, await group.metrics());
    }
    for (const [head, lines] of families) texts.push(`${head}\n${lines.join('\n')}\n`);
    await setImmediate();
    return texts.join('\n');
  }
}

/** @param text metrics with an empty line between two: no label's value holds a line feed that is not escaped. */
function addTo(families: Map<string, string[]>, text: string): void {
  for (const metric of text.trimEnd().split('\n\n')) {
    const [help = '', type = '', ...lines] = metric.split('\n');
    const head = `${help}\n${type}`;
    const family = families.get(head);
    if (family === undefined) families.set(head, lines);
    else family.push(...lines);
  }
}
