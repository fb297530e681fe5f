import type { Socket } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';

/** The feed connections that clients may hold before they are authenticated. */
export interface PendingLimits {
  /** Connections open at once. */
  total: number;
  /** Connections open at once from one address. */
  perAddress: number;
  /**
   * Connections made from one address within ten seconds: each costs the operator a TLS handshake, authenticated or
   * not.
   */
  perWindow: number;
}

/** A client makes one connection at a time, and backs off. A pending one costs the operator some 150 KiB. */
const LIMITS: PendingLimits = { total: 512, perAddress: 16, perWindow: 64 };
const WINDOW_MS = 10_000;

/**
 * The connections whose clients are not yet authenticated, bounded for each address and in total. One address cannot
 * take the slots of others: when all slots are in use, the address with the most connections loses one.
 */
export class PendingConnections {
  readonly #limits: PendingLimits;
  readonly #clock: Clock;
  /** By address, oldest first. */
  readonly #open = new Map<string, Map<string, Socket>>();
  /** Connections made in this window, by address. */
  readonly #made = new Map<string, number>();
  #windowBegan: number;
  #count = 0;

  constructor(clock: Clock, limits: PendingLimits = LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
    this.#windowBegan = clock.monotonic();
  }

  /** @returns the connection to close because there are too many: this one or an older one; undefined if none. */
  admit(socket: Socket): Socket | undefined {
    const address = socket.remoteAddress ?? '';
    const own = this.#open.get(address) ?? new Map<string, Socket>();
    if (this.#isTooFast(address) || own.size >= this.#limits.perAddress) return socket;
    const evicted = this.#count < this.#limits.total ? undefined : this.#oldestOfMost(own.size + 1);
    if (this.#count >= this.#limits.total && evicted === undefined) return socket;
    if (evicted !== undefined) this.release(evicted);
    const peer = peerOf(socket);
    this.#open.set(address, own.set(peer, socket));
    this.#count += 1;
    socket.once('close', () => this.#forget(address, peer));
    return evicted;
  }

  /** Whether it is admitted and not yet authenticated. A TLS socket and the socket below it are the same. */
  has(socket: Socket): boolean {
    return this.#open.get(socket.remoteAddress ?? '')?.has(peerOf(socket)) === true;
  }

  /** Its client is authenticated, or it is closed. */
  release(socket: Socket): void {
    this.#forget(socket.remoteAddress ?? '', peerOf(socket));
  }

  #forget(address: string, peer: string): void {
    const own = this.#open.get(address);
    if (own?.delete(peer) !== true) return;
    this.#count -= 1;
    if (own.size === 0) this.#open.delete(address);
  }

  #isTooFast(address: string): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#windowBegan >= WINDOW_MS) {
      this.#windowBegan = now;
      this.#made.clear();
    }
    const made = (this.#made.get(address) ?? 0) + 1;
    this.#made.set(address, made);
    return made > this.#limits.perWindow;
  }

  /** The oldest connection of the address that has most of them, if that has more than this. */
  #oldestOfMost(count: number): Socket | undefined {
    let most: Map<string, Socket> | undefined;
    for (const own of this.#open.values()) if (own.size > (most?.size ?? count)) most = own;
    return most?.values().next().value;
  }
}

const peerOf = (socket: Socket): string =>
  `${socket.remoteAddress ?? ''}|${socket.remotePort ?? 0}|${socket.localAddress ?? ''}`;
