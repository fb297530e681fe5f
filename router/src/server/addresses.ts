import { plainAddress, type TrustedNetworks } from '@wherry/service/trusted-networks.ts';
import { networkOf } from '@wherry/service/network-of.ts';

/** Something that can be closed in favour of another: a connection. */
export interface Closable {
  close(): void;
}

/** What is open from one address. Both sets begin with the one that has been in it longest. */
export interface Address<T extends Closable> {
  readonly network: string;
  readonly isTrusted: boolean;
  count: number;
  /** Those that never had a call. */
  readonly fresh: Set<T>;
  /** Those that had one, and have none now. */
  readonly idle: Set<T>;
}

/**
 * Bounds connections, in all and from each address that is no trusted proxy's (R12). A new one takes the place of one that
 * does nothing, from the same address or from the one that has most: of those that never had a call first. So nobody who
 * shares an address with a crowd is shut out by it. Where all are busy, the new one is refused.
 */
export class Addresses<T extends Closable> {
  readonly #limits: { connections: number; connectionsPerAddress: number };
  readonly #trusts: TrustedNetworks;
  readonly #addresses = new Map<string, Address<T>>();
  #count = 0;

  constructor(limits: { connections: number; connectionsPerAddress: number }, trusts: TrustedNetworks) {
    this.#limits = limits;
    this.#trusts = trusts;
  }

  get count(): number {
    return this.#count;
  }

  /** Counts one more. @returns its address, to be given to `leave`; undefined: there is no room, and nobody who would make it. */
  enter(remote: string | undefined): Address<T> | undefined {
    const plain = plainAddress(remote ?? '');
    const network = networkOf(plain);
    const address = this.#addresses.get(network) ?? {
      network,
      isTrusted: this.#trusts(plain),
      count: 0,
      fresh: new Set<T>(),
      idle: new Set<T>(),
    };
    const { connections, connectionsPerAddress } = this.#limits;
    if (!address.isTrusted && address.count >= connectionsPerAddress && !closeOne(address)) return undefined;
    if (this.#count >= connections && !closeOne(this.#heaviest())) return undefined;
    this.#addresses.set(network, address);
    address.count++;
    this.#count++;
    return address;
  }

  leave(address: Address<T>): void {
    address.count--;
    this.#count--;
    if (address.count === 0) this.#addresses.delete(address.network);
  }

  /** The address with the most connections that do nothing; a trusted proxy where nobody else has any. */
  #heaviest(): Address<T> | undefined {
    let heaviest: Address<T> | undefined;
    let most = 0;
    for (const address of this.#addresses.values()) {
      const weight = (address.fresh.size + address.idle.size) * (address.isTrusted ? 1 : this.#limits.connections);
      if (weight > most) [heaviest, most] = [address, weight];
    }
    return heaviest;
  }
}

/** Closes the connection that has done nothing longest. @returns whether there was one. */
function closeOne<T extends Closable>(address: Address<T> | undefined): boolean {
  const set = address === undefined || address.fresh.size === 0 ? address?.idle : address.fresh;
  for (const connection of set ?? []) {
    set?.delete(connection);
    connection.close();
    return true;
  }
  return false;
}
