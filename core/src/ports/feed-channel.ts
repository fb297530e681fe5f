/** One end of a feed connection: whole messages, in order. `service/feed/json-lines.ts` makes one of a stream. */
export interface FeedChannel {
  /** Queues a message. A peer that reads too slowly is disconnected: `closed` resolves. */
  send(message: object): void;
  /** Parsed, not validated: check each with its schema. Ends when the peer does. Iterate once. */
  messages(): AsyncIterable<unknown>;
  close(): void;
  /** Bytes that wait for a slow peer; absent where nothing can wait. */
  queuedBytes?(): number;
  /** Resolves when no bytes are waiting, or the connection has ended; absent where nothing can wait. */
  drained?(): Promise<void>;
  /** Resolves, never rejects, when either side has ended the connection. */
  readonly closed: Promise<void>;
}
