import type { Socket } from 'node:net';

/** How many connections may be open that have not yet shown whose they are. */
export interface StrangerLimits {
  total: number;
  /** From one address, so that one pod cannot take the places of all. */
  perAddress: number;
}

const LIMITS: StrangerLimits = { total: 1024, perAddress: 64 };

/** The connections that have not yet shown whose they are. */
export class Strangers {
  readonly #limits: StrangerLimits;
  readonly #byAddress = new Map<string, number>();
  /** By peer: what is known of a TLS socket is known of the socket below it. */
  readonly #open = new Map<string, string>();

  constructor(limits: StrangerLimits = LIMITS) {
    this.#limits = limits;
  }

  /** @returns false where there are too many already. */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress ?? '';
    const count = this.#byAddress.get(address) ?? 0;
    if (this.#open.size >= this.#limits.total || count >= this.#limits.perAddress) return false;
    const peer = peerOf(socket);
    this.#byAddress.set(address, count + 1);
    this.#open.set(peer, address);
    socket.once('close', () => this.#forget(peer));
    return true;
  }

  /** It has shown whose it is. */
  knows(socket: Socket): void {
    this.#forget(peerOf(socket));
  }

  #forget(peer: string): void {
    const address = this.#open.get(peer);
    if (address === undefined) return;
    this.#open.delete(peer);
    const count = (this.#byAddress.get(address) ?? 0) - 1;
    if (count > 0) this.#byAddress.set(address, count);
    else this.#byAddress.delete(address);
  }
}

const peerOf = (socket: Socket): string => `${socket.remoteAddress ?? ''}|${socket.remotePort ?? 0}|${socket.localAddress ?? ''}`;
