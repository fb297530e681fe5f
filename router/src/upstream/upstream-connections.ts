/** A connection to an instance. */
export interface UpstreamConnection {
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
  /** In the order in which they became idle. */
  readonly #idle = new Set<UpstreamConnection>();

  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#open.size;
  }

  opened(connection: UpstreamConnection): void {
    this.#open.add(connection);
    if (this.#open.size <= this.#max) return;
    const [oldest] = this.#idle;
    if (oldest === undefined) return;
    this.closed(oldest);
    oldest.close();
  }

  idle(connection: UpstreamConnection): void {
    if (this.#open.has(connection)) this.#idle.add(connection);
  }

  busy(connection: UpstreamConnection): void {
    this.#idle.delete(connection);
  }

  closed(connection: UpstreamConnection): void {
    this.#open.delete(connection);
    this.#idle.delete(connection);
  }
}
