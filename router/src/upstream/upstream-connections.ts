/** A connection to an instance. */
export interface UpstreamConnection {
  /** Which in the order of those that became idle; undefined: a call has it, or it was never used. */
  idleTurn: number | undefined;
  /** Ends it. */
  close(): void;
}

/**
 * Bounds the connections to all instances together (R12). Each running call has one; of those that are kept for later
 * calls, the one that was used longest ago is closed for a new one.
 */
export class UpstreamConnections {
  readonly #max: number;
  readonly #open = new Set<UpstreamConnection>();
  #turn = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#open.size;
  }

  opened(connection: UpstreamConnection): void {
    this.#open.add(connection);
    if (this.#open.size <= this.#max) return;
    const oldest = this.#longestIdle();
    if (oldest === undefined) return;
    this.closed(oldest);
    oldest.close();
  }

  /** Each call comes by here, and few connections are opened beyond the bound: so they are numbered, and not sorted. */
  idle(connection: UpstreamConnection): void {
    connection.idleTurn = this.#turn++;
  }

  busy(connection: UpstreamConnection): void {
    connection.idleTurn = undefined;
  }

  closed(connection: UpstreamConnection): void {
    this.#open.delete(connection);
  }

  #longestIdle(): UpstreamConnection | undefined {
    let longest: UpstreamConnection | undefined;
    for (const connection of this.#open) {
      if ((connection.idleTurn ?? Infinity) < (longest?.idleTurn ?? Infinity)) longest = connection;
    }
    return longest;
  }
}
