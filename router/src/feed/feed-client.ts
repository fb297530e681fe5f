import {
  routerMessageSchema,
  type LimitsDown,
  type RouterDown,
  type RouterStored,
  type RouterUp,
} from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { RouterState } from '../state/router-state.ts';

interface FollowOptions {
  state: RouterState;
  logger: Logger;
  /** The feed has confirmed or changed the state. */
  onHeard: () => void;
  /** The router's shares of limits. */
  onLimits: (answer: LimitsDown) => void;
  /** A batch of metrics is stored. */
  onStored: (sequence: number) => void;
}

/**
 * Keeps the state current from one feed connection, and confirms each version, at each heartbeat again: so the operator
 * knows that the router is alive. A message that is not understood is skipped: the last state stays active (R8).
 * @returns when the connection has ended, or is of no use because the operator has an older state than the router.
 */
export async function followFeed(channel: FeedChannel, options: FollowOptions): Promise<void> {
  const { state, logger, onHeard } = options;
  // Versions count within an epoch: before the snapshot of this connection's operator they mean nothing.
  let follows = false;
  for await (const raw of channel.messages()) {
    const message = readMessage(raw, logger);
    if (message === undefined || isAnswer(message, options)) continue;
    if (!(follows || message.type === 'snapshot')) continue;
    if (state.isOlder(message)) {
      logger.warn({ known: state.resourceVersion }, 'ignored an older state, sent by an operator that lags behind');
      return;
    }
    if (!applyState(channel, message, options)) continue;
    follows = true;
    onHeard();
  }
}

/** Passes on what answers a report of the router's own, and is no part of the state. */
function isAnswer(
  message: RouterDown | RouterStored | LimitsDown,
  { onLimits, onStored }: FollowOptions,
): message is RouterStored | LimitsDown {
  if (message.type === 'limits') onLimits(message);
  else if (message.type === 'stored') onStored(message.sequence);
  else return false;
  return true;
}

/** @returns whether the state could be applied; its version is then confirmed. */
function applyState(
  channel: FeedChannel,
  message: RouterDown,
  { state, logger }: Pick<FollowOptions, 'state' | 'logger'>,
): boolean {
  try {
    const changed = state.apply(message);
    if (changed || message.type === 'heartbeat')
      channel.send({ type: 'applied', version: state.version } satisfies RouterUp);
    return true;
  } catch (error) {
    logger.error({ err: error }, 'the feed sent a state that cannot be applied');
    return false;
  }
}

function readMessage(raw: unknown, logger: Logger): RouterDown | RouterStored | LimitsDown | undefined {
  const parsed = routerMessageSchema.safeParse(raw);
  if (!parsed.success)
    logger.error({ issues: parsed.error.issues.slice(0, 5) }, 'the feed sent a message that does not match its schema');
  return parsed.data;
}
