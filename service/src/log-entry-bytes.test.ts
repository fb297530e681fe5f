import { fc } from '@wherry/testing/properties.ts';
import { LOG_LEVELS, type LogEntry } from '@wherry/core/ports/telemetry.ts';
import { logEntryBytes } from './log-entry-bytes.ts';

const entry: fc.Arbitrary<LogEntry> = fc.record({
  functionName: fc.constantFrom('f', 'hello', 'a'.repeat(253)),
  requestId: fc.constantFrom('', '0f8fad5b-d9cb-469f-a165-70867728950e'),
  level: fc.constantFrom(...LOG_LEVELS),
  message: fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('\u0001', '"', '\\', '\ud800', '\u6f22', '\u007f') }),
  ),
  args: fc.option(fc.string({ unit: 'binary' })),
  sequence: fc.integer({ min: -2_147_483_648, max: 2_147_483_647 }),
  timestamp: fc.double({ min: 0, max: 9_007_199_254_740_991, noNaN: true }),
});

describe('logEntryBytes', () => {
  it('S8: is never less than what is sent, and no more than its frame above', () => {
    fc.assert(
      fc.property(entry, (one) => {
        const sent = Buffer.byteLength(JSON.stringify(one)) + 1;
        expect(logEntryBytes(one)).toBeGreaterThanOrEqual(sent);
        expect(logEntryBytes(one) - sent).toBeLessThanOrEqual(256);
      }),
    );
  });
});
