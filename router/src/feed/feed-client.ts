import { routerDownSchema, type RouterDown, type RouterUp } from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { RouterState } from '../state/router-state.ts';

/**
 * Keeps the state current from one feed connection, and confirms each version, at each heartbeat again: so the operator
 * knows that the router is alive. A message that is not understood is skipped: the last state stays active (R8).
 * @returns when the connection has ended, or is of no use because the operator has an older state than the router.
 */
export async function followFeed(channel: FeedChannel, state: RouterState, logger: Logger): Promise<void> {
  // Versions count within an epoch: before the snapshot of this connection's operator they mean nothing.
  let follows = false;
  for await (const raw of channel.messages()) {
    const message = readMessage(raw, logger);
    if (message === undefined || !(follows || message.type === 'snapshot')) continue;
    if (state.isOlder(message)) {
      logger.warn({ known: state.resourceVersion }, 'ignored an older state, sent by an operator that lags behind');
      return;
    }
    try {
      const changed = state.apply(message);
      follows = true;
      if (changed || message.type === 'heartbeat')
        channel.send({ type: 'applied', version: state.version } satisfies RouterUp);
    } catch (error) {
      logger.error({ err: error }, 'the feed sent a state that cannot be applied');
    }
  }
}

function readMessage(raw: unknown, logger: Logger): RouterDown | undefined {
  const parsed = routerDownSchema.safeParse(raw);
  if (!parsed.success)
    logger.error({ issues: parsed.error.issues.slice(0, 5) }, 'the feed sent a message that does not match its schema');
  return parsed.data;
}
