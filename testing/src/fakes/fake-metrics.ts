import type {
  Counter,
  Gauge,
  Histogram,
  Labels,
  MetricDefinition,
  Metrics,
  Series,
} from '@wherry/core/ports/metrics.ts';

interface Sample {
  labels: Labels;
  values: number[];
}

/** What a metric, or all groups of series together that have one of its name, were given. */
interface Family {
  samples: Sample[];
  read?: (() => Iterable<readonly [Labels, number]>) | undefined;
}

/**
 * Metrics that a test reads back. As strict as the real registry: a name is made once, and only its labels are taken.
 */
export class FakeMetrics implements Metrics {
  readonly #families = new Map<string, Family>();

  counter(definition: MetricDefinition<'counter'>): Counter {
    return counterOf(this.#make(definition));
  }

  gauge(definition: MetricDefinition<'gauge'>): Gauge {
    const sampleOf = this.#make(definition);
    return { ...gaugeOf(sampleOf), observe: (read) => void (this.#familyOf(definition.name).read = read) };
  }

  histogram(definition: MetricDefinition<'histogram'>): Histogram {
    return histogramOf(this.#make(definition));
  }

  series(bound: Labels): Series {
    const made = new Set<string>();
    const own = new Set<Sample>();
    const make = ({ name, labels }: MetricDefinition): SampleOf => {
      if (made.has(name)) throw new Error(`metric ${name} is made twice`);
      made.add(name);
      const { samples } = this.#familyOf(name);
      const mine: Sample[] = [];
      const sampleOf = finder(name, labels, mine);
      return (given) => {
        const sample = sampleOf({ ...bound, ...given });
        if (!removed && !own.has(sample)) samples.push(sample);
        own.add(sample);
        return sample;
      };
    };
    let removed = false;
    return {
      counter: (definition) => counterOf(make(definition)),
      gauge: (definition) => ({
        ...gaugeOf(make(definition)),
        observe: () => {
          throw new Error('observe a gauge of no series');
        },
      }),
      histogram: (definition) => histogramOf(make(definition)),
      remove: () => {
        removed = true;
        for (const { samples } of this.#families.values())
          samples.splice(0, Infinity, ...samples.filter((sample) => !own.has(sample)));
      },
    };
  }

  /** The sum of a counter's or gauge's values over all samples that have these labels; 0 when there is none. */
  value(name: string, labels: Labels = {}): number {
    return this.observations(name, labels).reduce((sum, value) => sum + value, 0);
  }

  /** What a histogram was given, under these labels. */
  observations(name: string, labels: Labels = {}): number[] {
    return this.seriesOf(name, labels).flatMap(({ values }) => values);
  }

  /** The series of a metric that have these labels. */
  seriesOf(name: string, labels: Labels = {}): Sample[] {
    const family = this.#families.get(name);
    if (family === undefined) throw new Error(`there is no metric ${name}`);
    const observed = [...(family.read?.() ?? [])].map(([own, value]) => ({ labels: own, values: [value] }));
    return [...family.samples, ...observed].filter((sample) =>
      Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
  }

  #make({ name, labels }: MetricDefinition): SampleOf {
    if (this.#families.has(name)) throw new Error(`metric ${name} is made twice`);
    return finder(name, labels, this.#familyOf(name).samples);
  }

  #familyOf(name: string): Family {
    const family = this.#families.get(name) ?? { samples: [] };
    this.#families.set(name, family);
    return family;
  }
}

type SampleOf = (labels?: Labels) => Sample;

/** Finds the sample of some labels, or makes it. */
function finder(name: string, known: readonly string[], samples: Sample[]): SampleOf {
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

const counterOf = (sampleOf: SampleOf): Counter => ({ inc: (labels, by = 1) => void add(sampleOf(labels), by) });

const gaugeOf = (sampleOf: SampleOf): Omit<Gauge, 'observe'> => ({
  set: (value, labels) => void (sampleOf(labels).values = [value]),
  inc: (labels, by = 1) => void add(sampleOf(labels), by),
});

const histogramOf = (sampleOf: SampleOf): Histogram => ({
  observe: (value, labels) => void sampleOf(labels).values.push(value),
});

function add(sample: Sample, by: number): void {
  sample.values = [(sample.values[0] ?? 0) + by];
}
