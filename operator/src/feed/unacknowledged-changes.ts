/** How long to wait for a router that does not acknowledge a change. */
export const ROUTER_PATIENCE_MS = 5000;

/** Which functions' last change some router may not have applied yet. */
export class UnacknowledgedChanges {
  readonly #changes = new Map<string, { version: number; at: number }>();

  /** @param at monotonic milliseconds. */
  add(functionNames: Iterable<string>, version: number, at: number): void {
    for (const name of functionNames) this.#changes.set(name, { version, at });
  }

  has(functionName: string): boolean {
    return this.#changes.has(functionName);
  }

  /**
   * Forgets what every router has acknowledged, or has had enough time to apply.
   * @param applied the lowest version that any router has applied; Infinity when there is none.
   * @returns the functions that it forgot.
   */
  acknowledge(applied: number, now: number): string[] {
    const acknowledged = [...this.#changes].filter(
      ([, { version, at }]) => version <= applied || now - at >= ROUTER_PATIENCE_MS,
    );
    for (const [name] of acknowledged) this.#changes.delete(name);
    return acknowledged.map(([name]) => name);
  }
}
