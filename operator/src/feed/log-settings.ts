import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_LOG_BATCH, type LogBatching } from '@wherry/core/feed/messages.ts';
import type { SettingsResource } from '@wherry/core/resources/kinds.ts';
import { settingValue } from '@wherry/core/settings-definitions.ts';

/** What routers and runtimes know of the settings of logs. Defaults of batches are left out, as the feed says. */
export function logSettings(settings: SettingsResource | undefined): { logLevel: string; logBatch?: LogBatching } {
  const values = settings?.spec.values;
  const logBatch = {
    maxEntries: Number(settingValue(values, 'log.batching.max-batch-size')),
    maxDelayMs: Number(settingValue(values, 'log.batching.max-delay-ms')),
  };
  const isDefault = isDeepStrictEqual(logBatch, DEFAULT_LOG_BATCH);
  return { logLevel: settingValue(values, 'log.level'), ...(isDefault ? {} : { logBatch }) };
}
