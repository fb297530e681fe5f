import { Addresses, type Address, type Closable } from './addresses.ts';
import { trustedNetworks } from './trusted-networks.ts';

class Connection implements Closable {
  closed = false;
  address: Address<Connection> | undefined;
  readonly #addresses: Addresses<Connection>;

  constructor(addresses: Addresses<Connection>, remote: string) {
    this.#addresses = addresses;
    this.address = addresses.enter(remote);
    this.address?.fresh.add(this);
  }

  work(): this {
    this.address?.fresh.delete(this);
    this.address?.idle.delete(this);
    return this;
  }

  rest(): this {
    if (this.work().address !== undefined) this.#addresses.rest(this.address!, this);
    return this;
  }

  close(): void {
    this.closed = true;
    if (this.work().address !== undefined) this.#addresses.leave(this.address!);
  }
}

describe('R12: connections', () => {
  const limits = { connections: 6, connectionsPerAddress: 3 };
  let addresses: Addresses<Connection>;
  const open = (remote: string): Connection => new Connection(addresses, remote);
  beforeEach(() => (addresses = new Addresses<Connection>(limits, trustedNetworks(['10.0.0.0/8']))));

  it('of one address: a new one takes the place of one that never had a call, else of the one that is idle longest', () => {
    const [busy, idle, fresh] = [open('192.0.2.1').work(), open('::ffff:192.0.2.1').rest(), open('192.0.2.1')];
    const next = open('192.0.2.1').rest();
    expect([busy.closed, idle.closed, fresh.closed]).toEqual([false, false, true]);
    open('192.0.2.1').work();
    expect([idle.closed, next.closed]).toEqual([true, false]);
    expect(open('192.0.2.2').address).toBeDefined();
    expect(addresses.count).toBe(4);
  });

  it('of one address: a new one does not give way to the next where more are idle after a call', () => {
    const [first, second, fresh] = [open('192.0.2.1').rest(), open('192.0.2.1').rest(), open('192.0.2.1')];
    open('192.0.2.1');
    expect([first.closed, second.closed, fresh.closed]).toEqual([true, false, false]);
  });

  it('of one address: where all are busy, the next is refused', () => {
    for (let n = 0; n < 3; n++) open('192.0.2.1').work();
    expect(open('192.0.2.1').address).toBeUndefined();
    expect(addresses.count).toBe(3);
  });

  it('of one address that do nothing have a limit of their own: beyond it the one that has done so longest goes, of the kind that there is more of', () => {
    addresses = new Addresses<Connection>(
      { connections: 12, connectionsPerAddress: 8, idlePerAddress: 2 },
      trustedNetworks(['10.0.0.0/8']),
    );
    const states = (all: Connection[]): boolean[] => all.map(({ closed }) => closed);
    const fresh = [1, 2, 3].map(() => open('192.0.2.1'));
    expect(states(fresh)).toEqual([true, false, false]);
    const busy = [1, 2, 3].map(() => open('192.0.2.1').work());
    expect(states(fresh)).toEqual([true, true, false]);
    for (const connection of busy) connection.rest();
    expect(states([...fresh, ...busy])).toEqual([true, true, false, true, true, false]);
    expect(states([1, 2, 3].map(() => open('10.1.2.3')))).not.toContain(true);
    expect(states([open('192.0.2.2')])).toEqual([false]);
    expect(addresses.count).toBe(6);
  });

  it('of a trusted proxy are bounded by the limit of all alone', () => {
    const ofProxy = Array.from({ length: 6 }, () => open('10.1.2.3').rest());
    expect(ofProxy.map(({ closed }) => closed)).not.toContain(true);
    expect(open('10.1.2.3').address).toBeDefined();
    expect(ofProxy.filter(({ closed }) => closed)).toEqual([ofProxy[0]]);
  });

  it('of all: the address that has most idle ones makes room, and a trusted proxy only where nobody else has any', () => {
    const proxy = [1, 2].map(() => open('10.1.2.3').rest());
    const many = [1, 2, 3].map(() => open('192.0.2.1').rest());
    const one = open('192.0.2.2').rest();
    open('192.0.2.3').work();
    expect([...proxy, ...many, one].map(({ closed }) => closed)).toEqual([false, false, true, false, false, false]);
    for (const connection of [...many, one]) connection.work();
    open('192.0.2.4').work();
    expect(proxy.map(({ closed }) => closed)).toEqual([true, false]);
    expect(addresses.count).toBe(6);
  });
});
