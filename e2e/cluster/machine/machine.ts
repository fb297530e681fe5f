import type { Socket } from 'node:net';
import type { Start } from '../command.ts';

/** An address of TCP. */
export interface Address {
  host: string;
  port: number;
}

/** Where a cluster's Docker daemon runs: this machine, or namespaces of its own on it. */
export interface Machine {
  /** Starts a program there, in our working folder. */
  start: Start;
  /** Opens a connection from there. @throws Error that names the address */
  connect: (address: Address) => Promise<Socket>;
  /**
   * Listens there, and leads every connection to a listener of ours.
   * @param port 0 for any
   * @returns the address there, and what ends it
   */
  publish: (there: Address, ours: Address) => Promise<{ address: Address; close: () => Promise<void> }>;
}
