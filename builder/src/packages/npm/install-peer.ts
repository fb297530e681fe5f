import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';

/** Who does the work with the registry: a child process, or a connection to the program that has one. */
export interface InstallPeer {
  readonly channel: FeedChannel;
  /** Resolves when it is gone, with all that it had. */
  readonly exited: Promise<void>;
  kill(): void;
}
