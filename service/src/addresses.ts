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
  /** Connections that never had a call. */
  readonly fresh: Set<T>;
  /** Connections that had a call, and have none now. */
  readonly idle: Set<T>;
}

interface AddressLimits {
  /** Connections in all. */
  connections: number;
  /** Of one address that is no trusted proxy's. */
  connectionsPerAddress: number;
  /** Of those, idle connections: each may hold a head that never ends. If absent, all of them may be idle. */
  idlePerAddress?: number;
}

/**
 * Bounds connections, in all and from each address that is no trusted proxy's (R12). A new connection replaces an idle
 * one from the same address, or from the address that has the most: one that never had a call, unless more are idle
 * after a call. So a crowd behind one address does not shut out others at that address. Where all are busy, the new
 * connection is refused.
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
   * Counts one more connection.
   * @returns its address, to be given to `leave`; undefined when there is no room and no idle connection to replace.
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
   * A connection of the address has become idle; it, or one that has been idle for longer, is closed where there are
   * too many.
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

  /** Closes idle connections beyond the limit. @param more connections that are about to become idle too. */
  #bound(address: Address<T>, more: number): void {
    const { idlePerAddress = Infinity } = this.#limits;
    if (!address.isTrusted && address.fresh.size + address.idle.size + more > idlePerAddress) closeOne(address);
  }

  /** The address with the most idle connections; a trusted proxy only where no other address has any. */
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

/**
 * Closes a connection of the kind that there is more of, the one that has been idle longest: a new one would otherwise
 * give way to the next before its call is read, while others keep hundreds that had theirs.
 * @returns whether there was one.
 */
function closeOne<T extends Closable>(address: Address<T> | undefined): boolean {
  if (address === undefined) return false;
  const { fresh, idle } = address;
  const set = fresh.size >= idle.size ? fresh : idle;
  for (const connection of set) {
    set.delete(connection);
    connection.close();
    return true;
  }
  return false;
}
