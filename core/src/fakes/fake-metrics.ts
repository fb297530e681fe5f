import type { Counter, Gauge, Histogram, Labels, Metrics } from '../ports/metrics.ts';

interface Sample {
  labels: Labels;
  values: number[];
}

/** Metrics that a test reads back. As strict as the real registry: a name is made once, and only its labels are taken. */
export class FakeMetrics implements Metrics {
  readonly #samples = new Map<string, Sample[]>();

  counter(name: string, _help: string, labels: readonly string[] = []): Counter {
    const sampleOf = this.#make(name, labels);
    return { inc: (given, by = 1) => void add(sampleOf(given), by) };
  }

  gauge(name: string, _help: string, labels: readonly string[] = []): Gauge {
    const sampleOf = this.#make(name, labels);
    return {
      set: (value, given) => void (sampleOf(given).values = [value]),
      inc: (given, by = 1) => void add(sampleOf(given), by),
    };
  }

  histogram(name: string, _help: string, labels: readonly string[] = []): Histogram {
    const sampleOf = this.#make(name, labels);
    return { observe: (value, given) => void sampleOf(given).values.push(value) };
  }

  /** The sum of a counter's or gauge's values over all samples that have these labels; 0 when there is none. */
  value(name: string, labels: Labels = {}): number {
    return this.observations(name, labels).reduce((sum, value) => sum + value, 0);
  }

  /** What a histogram was given, under these labels. */
  observations(name: string, labels: Labels = {}): number[] {
    const samples = this.#samples.get(name);
    if (samples === undefined) throw new Error(`there is no metric ${name}`);
    const matches = (sample: Sample): boolean => Object.entries(labels).every(([key, value]) => sample.labels[key] === value);
    return samples.filter(matches).flatMap((sample) => sample.values);
  }

  #make(name: string, known: readonly string[]): (labels?: Labels) => Sample {
    if (this.#samples.has(name)) throw new Error(`metric ${name} is made twice`);
    const samples: Sample[] = [];
    this.#samples.set(name, samples);
    return (labels = {}) => {
      const unknown = Object.keys(labels).find((label) => !known.includes(label));
      if (unknown !== undefined) throw new Error(`metric ${name} has no label ${unknown}`);
      const same = samples.find((sample) => known.every((label) => sample.labels[label] === labels[label]));
      if (same !== undefined) return same;
      const sample = { labels: { ...labels }, values: [] };
      samples.push(sample);
      return sample;
    };
  }
}

function add(sample: Sample, by: number): void {
  sample.values = [(sample.values[0] ?? 0) + by];
}
