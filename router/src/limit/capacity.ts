import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** How much of each kind the router handles at once (R12). */
export interface Capacity {
  /** Calls that run or wait. */
  calls: number;
  /** Connections of callers, busy and idle. */
  connections: number;
  /** Connections of callers from one address that is no trusted proxy's. */
  connectionsPerAddress: number;
  /** Of those, connections that have no call: each may hold a head that never ends. */
  idlePerAddress: number;
  /** Connections to instances, busy and idle. */
  upstreams: number;
}

interface Resources {
  /** Bytes of memory that the process may use. */
  memory: number;
  /** Files that the process may have open. */
  descriptors: number;
}

const MIB = 1024 * 1024;
/**
 * The memory that the program needs by itself: Node, code, a large table of routes, what the garbage collector has not
 * yet freed.
 */
const OWN_MEMORY = 160 * MIB;
/** Files that are not connections of calls: the feed, the ops listener, logs, Node's own. */
const OWN_DESCRIPTORS = 128;
/**
 * The memory of a call whose caller and function both stall: its state, two connections, and the buffers of both
 * directions.
 */
const CALL_BYTES = 144 * 1024;
const MOST_CALLS = 4096;
const LEAST_CALLS = 16;

/**
 * Derives it from the limits of the process, so that neither memory nor files run out, whatever callers do: with 512
 * MiB 2,500 calls. Of the files, a half is for callers who are idle or slow, the rest for running calls, which take two
 * each.
 */
export function capacityOf({ memory, descriptors }: Resources): Capacity {
  const byMemory = (memory - OWN_MEMORY) / CALL_BYTES;
  const byDescriptors = (descriptors - OWN_DESCRIPTORS) / 4;
  const calls = Math.max(LEAST_CALLS, Math.floor(Math.min(byMemory, byDescriptors, MOST_CALLS)));
  return {
    calls,
    connections: 2 * calls,
    connectionsPerAddress: Math.ceil(calls / 2),
    idlePerAddress: Math.ceil(calls / 8),
    upstreams: calls,
  };
}

/**
 * The limits of this process: of its control group, or of the machine if it has none, and its limit on open files.
 */
export function processResources(): Resources {
  const ofGroup = process.constrainedMemory();
  const memory = ofGroup > 0 ? Math.min(ofGroup, totalmem()) : totalmem();
  return { memory, descriptors: openFilesLimit(readFileSync('/proc/self/limits', 'utf8')) };
}

/** @param limits the text of `/proc/self/limits`; Node has raised the soft limit to the hard one when it began. */
export function openFilesLimit(limits: string): number {
  const soft = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits)?.[1];
  return soft === undefined || soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft);
}
