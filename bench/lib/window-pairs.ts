import { median, rounded } from './statistics.ts';

/** p99 of windows of calls, in milliseconds: window n of one list was measured beside window n of the other. */
export interface WindowPairs {
  calm: number[];
  disturbed: number[];
}

/** Measures a window of each kind; every other turn begins with the other one. */
export async function measurePair(
  pairs: WindowPairs,
  turn: number,
  windows: { calm: () => Promise<number>; disturbed: () => Promise<number> },
): Promise<void> {
  const steps = [
    async (): Promise<unknown> => pairs.calm.push(await windows.calm()),
    async (): Promise<unknown> => pairs.disturbed.push(await windows.disturbed()),
  ];
  for (const step of turn % 2 === 0 ? steps : steps.toReversed()) await step();
}

export const PAIR_HEADING = ['p99 without, ms', 'p99 with, ms', 'ratio of pairs', 'of medians'];

/** The median with the range of each list, the median of the ratios, and the ratio of the medians. */
export function pairCells({ calm, disturbed }: WindowPairs): string[] {
  const spread = (p99: number[]): string =>
    `${rounded(median(p99), 1)} (${rounded(Math.min(...p99), 1)}-${rounded(Math.max(...p99), 1)})`;
  const ratios = disturbed.map((p99, turn) => p99 / (calm[turn] ?? Number.NaN));
  return [spread(calm), spread(disturbed), rounded(median(ratios), 2), rounded(median(disturbed) / median(calm), 2)];
}
