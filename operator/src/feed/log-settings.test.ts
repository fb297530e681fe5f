import type { SettingsResource } from '@wherry/core/resources/kinds.ts';
import { logSettings } from './log-settings.ts';

describe('the settings of logs on the feed', () => {
  const of = (values: Record<string, string>): ReturnType<typeof logSettings> =>
    logSettings({ spec: { values } } as SettingsResource);

  it('leave out the defaults of batches, which are those that the feed has', () => {
    expect(logSettings(undefined)).toEqual({ logLevel: 'info' });
    expect(of({ 'log.batching.max-batch-size': '50', 'log.batching.max-delay-ms': '50' })).toEqual({
      logLevel: 'info',
    });
  });

  it.each([
    [{ 'log.batching.max-batch-size': '500' }, { maxEntries: 500, maxDelayMs: 50 }],
    [{ 'log.batching.max-delay-ms': '10' }, { maxEntries: 50, maxDelayMs: 10 }],
    [
      { 'log.batching.max-delay-ms': '7', 'log.batching.max-batch-size': '1' },
      { maxEntries: 1, maxDelayMs: 50 },
    ],
  ])('are what is set and valid: %j', (values, logBatch) => {
    expect(of({ ...values, 'log.level': 'warn' })).toEqual({ logLevel: 'warn', logBatch });
  });
});
