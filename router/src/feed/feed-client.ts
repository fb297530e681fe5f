import { routerDownSchema, type RouterUp } from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { RouterState } from '../state/router-state.ts';

/**
 * Keeps the state current from one feed connection, and confirms each version. A message that is not understood is
 * skipped: what is known stays in force (R8).
 * @returns when the connection has ended.
 */
export async function followFeed(channel: FeedChannel, state: RouterState, logger: Logger): Promise<void> {
  for await (const message of channel.messages()) {
    const parsed = routerDownSchema.safeParse(message);
    if (!parsed.success) {
      logger.error({ issues: parsed.error.issues.slice(0, 5) }, 'The feed sent a message that does not fit its schema');
      continue;
    }
    try {
      if (state.apply(parsed.data)) channel.send({ type: 'applied', version: state.version } satisfies RouterUp);
    } catch (error) {
      logger.error({ err: error }, 'The feed sent a state that cannot be applied');
    }
  }
}
