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
  readonly #apply: (text: string) => string;
  #sequence = 0;

  constructor(options: CallLogOptions) {
    this.#options = options;
    this.#apply = (text) => options.mask.apply(text);
  }

  /** @param values as they were handed to a console method: the first is the message, the others its arguments. */
  write(level: WriteLevel, values: unknown[], call: Call | undefined = currentCall.getStore()): void {
    if (!isCaptured(level, this.level)) return;
    const [message = '', ...rest] = values;
    this.#options.add({
      functionName: this.functionName,
      requestId: call?.context.requestId ?? '',
      level,
      message: formatMessage(message, this.#apply),
      args: formatArguments(rest, this.#apply),
      sequence: call === undefined ? (this.#sequence += 1) : (call.sequence += 1),
      timestamp: this.#options.clock.now(),
    });
  }
}
