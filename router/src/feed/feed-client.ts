import { routerDownSchema, type RouterDown, type RouterUp } from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { RouterState } from '../state/router-state.ts';

/**
 * Keeps the state current from one feed connection, and confirms each version, at each heartbeat again: so the operator
 * knows that somebody is there. A message that is not understood is skipped: what is known stays active (R8).
 * @returns when the connection has ended, or is of no use: who it leads to knows less than the router.
 */
export async function followFeed(channel: FeedChannel, state: RouterState, logger: Logger): Promise<void> {
  // Versions count within an epoch: before the snapshot of this connection's operator they say nothing.
  let follows = false;
  for await (const raw of channel.messages()) {
    const message = readMessage(raw, logger);
    if (message === undefined || !(follows || message.type === 'snapshot')) continue;
    if (state.isOlder(message)) {
      logger.warn({ known: state.resourceVersion }, 'an operator that lags behind sent an older state: it is ignored');
      return;
    }
    try {
      const changed = state.apply(message);
      follows = true;
      if (changed || message.type === 'heartbeat')
        channel.send({ type: 'applied', version: state.version } satisfies RouterUp);
    } catch (error) {
      logger.error({ err: error }, 'The feed sent a state that cannot be applied');
    }
  }
}

function readMessage(raw: unknown, logger: Logger): RouterDown | undefined {
  const parsed = routerDownSchema.safeParse(raw);
  if (!parsed.success)
    logger.error({ issues: parsed.error.issues.slice(0, 5) }, 'The feed sent a message that does not fit its schema');
  return parsed.data;
}
