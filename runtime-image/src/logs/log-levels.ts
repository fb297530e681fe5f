/** Levels of what a handler writes. */
export type WriteLevel = 'log' | 'debug' | 'info' | 'warn' | 'error' | 'trace' | 'stdout' | 'stderr';

const RANK: Record<WriteLevel, number> = {
  debug: 0,
  trace: 0,
  log: 1,
  info: 1,
  stdout: 1,
  warn: 2,
  stderr: 2,
  error: 3,
};
const LEAST: Record<string, number> = { debug: 0, info: 1, warn: 2, error: 3, none: 4 };

/** Whether the setting `log.level` has this level captured. An unknown setting counts as its default, `info`. */
export const isCaptured = (level: WriteLevel, setting: string): boolean => RANK[level] >= (LEAST[setting] ?? 1);
