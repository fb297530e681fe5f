import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { EventStream } from '../http/event-stream.ts';
import { refused } from '../http/validate.ts';
import type { TelemetryStore } from '../log-store/telemetry-store.ts';
import { entryView } from './entry-view.ts';
import type { LogStreamQuery } from './log-schemas.ts';

/** Entries that one look reads: no more of them wait for a listener that is slow. */
const AT_ONCE = 200;
/** Pause between two looks of a listener, so that many listeners leave the database time for everything else. */
const PAUSE_MS = 100;

interface LogStreamsOptions {
  telemetry: TelemetryStore;
  clock: Pick<Clock, 'after'>;
  logger: Logger;
}

/**
 * Sends log entries to listeners as they arrive. A listener is a position in the database, which is read on when the
 * listener has taken what came before: it loses nothing and holds up nobody, however slow it is.
 */
export class LogStreams {
  readonly #options: LogStreamsOptions;

  constructor(options: LogStreamsOptions) {
    this.#options = options;
  }

  /**
   * @param lastEventId as a client sends it that connects again; without it, only what arrives from now on is sent.
   * @throws DomainError `validation_failed` for an id that no event has.
   */
  async begin(query: LogStreamQuery, lastEventId: string | undefined): Promise<(stream: EventStream) => void> {
    const { telemetry, logger } = this.#options;
    const after = positionOf(lastEventId) ?? (await telemetry.newest());
    return (stream) => {
      this.#follow(stream, query, after).catch((err: unknown) => {
        logger.warn({ err }, 'a stream of log entries ended');
        stream.end();
      });
    };
  }

  async #follow(stream: EventStream, { functionId, level }: LogStreamQuery, begin: number): Promise<void> {
    const { telemetry } = this.#options;
    let written = Promise.withResolvers<undefined>();
    const stop = telemetry.onWrite(() => written.resolve(undefined));
    void stream.closed.then(stop);
    for (let after = begin; !stream.isClosed;) {
      // Before the look: what is written during it counts.
      written = Promise.withResolvers();
      const found = await telemetry.follow({ functionName: functionId, levels: level, after, limit: AT_ONCE });
      for (const entry of found.entries) {
        if (!stream.send({ id: String(entry.id), data: entryView(entry) })) await stream.ready();
      }
      after = found.lookedAt;
      if (found.hasMore) continue;
      await this.#pause(stream);
      await Promise.race([written.promise, stream.closed]);
    }
  }

  async #pause(stream: EventStream): Promise<void> {
    const over = Promise.withResolvers<undefined>();
    const cancel = this.#options.clock.after(PAUSE_MS, () => over.resolve(undefined));
    await Promise.race([over.promise, stream.closed]);
    cancel();
  }
}

function positionOf(lastEventId: string | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId === '') return undefined;
  if (/^\d{1,15}$/.test(lastEventId)) return Number(lastEventId);
  throw refused([{ path: 'Last-Event-ID', message: 'must be the id of an event of this stream' }], 'header');
}
