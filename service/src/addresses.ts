import { networkOf } from './network-of.ts';
import { plainAddress, type TrustedNetworks } from './trusted-networks.ts';

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

interface AddressLimits {
  /** Connections in all. */
  connections: number;
  /** Of one address that is no trusted proxy's. */
  connectionsPerAddress: number;
  /** Of those, ones that do nothing: each may hold a head that never ends. Absent: all of them. */
  idlePerAddress?: number;
}

/**
 * Bounds connections, in all and from each address that is no trusted proxy's (R12). A new one takes the place of one
 * that does nothing, from the same address or from the one that has most: of those that never had a call first. So
 * nobody who shares an address with a crowd is shut out by it. Where all are busy, the new one is refused.
 */
export class Addresses<T extends Closable> {
  readonly #limits: AddressLimits;
  readonly #trusts: TrustedNetworks;
  readonly #addresses = new Map<string, Address<T>>();
  #count = 0;

  constructor(limits: AddressLimits, trusts: TrustedNetworks) {
    this.#limits = limits;
    this.#trusts = trusts;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Counts one more.
   * @returns its address, to be given to `leave`; undefined: there is no room, and nobody who would make it.
   */
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
    this.#bound(address, 1);
    if (!address.isTrusted && address.count >= connectionsPerAddress && !closeOne(address)) return undefined;
    if (this.#count >= connections && !closeOne(this.#heaviest())) return undefined;
    this.#addresses.set(network, address);
    address.count++;
    this.#count++;
    return address;
  }

  /**
   * One of the address has no call any more; it, or one that has done nothing longer, is closed where there are too
   * many.
   */
  rest(address: Address<T>, connection: T): void {
    address.idle.add(connection);
    this.#bound(address, 0);
  }

  leave(address: Address<T>): void {
    address.count--;
    this.#count--;
    if (address.count === 0) this.#addresses.delete(address.network);
  }

  /** Closes what does nothing beyond the limit. @param more connections that are about to do so too. */
  #bound(address: Address<T>, more: number): void {
    const { idlePerAddress = Infinity } = this.#limits;
    if (!address.isTrusted && address.fresh.size + address.idle.size + more > idlePerAddress) closeOne(address);
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
