/** The value below which this share (0 to 1) of the samples lies, by the nearest rank. NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/** `1.23` to so many decimals, `-` where there is nothing. */
export const rounded = (value: number, decimals = 0): string =>
  Number.isFinite(value) ? value.toFixed(decimals) : '-';
