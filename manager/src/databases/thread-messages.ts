/** To the thread of a database: each is answered once, in order. The last one is `close`. */
export type ThreadRequest<O> = (O | { operation: 'close' }) & { id: number };

/** From the thread; `ready` comes first, once. */
export type ThreadReply =
  { id: number; result: unknown } | { id: number; error: string } | { ready: true; setAside: string | undefined };
