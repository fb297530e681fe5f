import { DEFAULT_LOG_BATCH, type LogBatching, type RuntimeState } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { currentCall, type Call } from '../call/call.ts';
import { formatArguments, formatMessage } from './format-arguments.ts';
import { isCaptured, type WriteLevel } from './log-levels.ts';
import type { SecretMask } from './secret-mask.ts';

interface CallLogOptions {
  clock: Clock;
  mask: SecretMask;
  add(entry: LogEntry): void;
  /** The settings of batches are these from now on. */
  batch(batching: LogBatching): void;
}

/**
 * Makes log entries of what the handler writes. Function, request and level come only from here, never from what was
 * written (S6). Output outside of any call, for example while loading, has the request id "".
 */
export class CallLog {
  /** The setting `log.level`, as the feed last sent it. */
  level = 'info';
  functionName = '';
  readonly #options: CallLogOptions;
  readonly #mask: (text: string) => string;
  #sequence = 0;

  constructor(options: CallLogOptions) {
    this.#options = options;
    this.#mask = (text) => options.mask.apply(text);
  }

  apply({ logLevel, logBatch = DEFAULT_LOG_BATCH }: RuntimeState['settings']): void {
    this.level = logLevel;
    this.#options.batch(logBatch);
  }

  /** @param values as they were handed to a console method: the first is the message, the others its arguments. */
  write(level: WriteLevel, values: unknown[], call: Call | undefined = currentCall.getStore()): void {
    if (!isCaptured(level, this.level)) return;
    const [message = '', ...rest] = values;
    this.#options.add({
      functionName: this.functionName,
      requestId: call?.context.requestId ?? '',
      level,
      message: formatMessage(message, this.#mask),
      args: formatArguments(rest, this.#mask),
      sequence: call === undefined ? (this.#sequence += 1) : (call.sequence += 1),
      timestamp: this.#options.clock.now(),
    });
  }
}
