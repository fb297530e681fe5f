import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/*
 * Hostile callers, as a process of their own: so they have their own share of the processor and their own open
 * files. A test starts them by `startCallers`.
 */

/** What they do, with how many calls or sockets. */
export type Orders =
  /** One socket, all calls at once, each with its number in the path. */
  | { kind: 'pipeline'; port: number; path: string; calls: number }
  /** Many sockets, a call on each, as soon as it is open; they stay open. */
  | { kind: 'connections'; port: number; path: string; sockets: number }
  /** Many sockets from one address that send the largest head, and never its end. */
  | { kind: 'heads'; port: number; path: string; sockets: number }
  /** Many sockets from one address, each with a call whose body never ends, opened as fast as they are answered. */
  | { kind: 'bodies'; port: number; path: string; sockets: number }
  /** Many sockets from one address, each with a call whose body comes in chunks of a byte, as fast as it is read. */
  | { kind: 'chunks'; port: number; path: string; sockets: number }
  /** Many sockets that send a head byte by byte, one each second. */
  | { kind: 'drip'; port: number; path: string; sockets: number };

/** Addresses that `drip` comes from, so that it is not subject to the limit of one. */
const DRIP_ADDRESSES = 5;

/** What has come of it so far. */
interface Progress {
  /** Sockets whose connection was opened, and that are closed. */
  opened: number;
  closed: number;
  /** Of those that are closed, the ones that had no answer. */
  unanswered: number;
  /** Answers by status. */
  statuses: Record<string, number>;
  /** `pipeline`: numbers of calls in the order of their answers, up to the first that was not the next. */
  inOrder: number;
}

export interface Callers {
  readonly progress: Progress;
  stop(): Promise<void>;
}

/** Starts a process that follows orders and reports how it goes, four times a second. */
export function startCallers(orders: Orders): Callers {
  const child: ChildProcess = fork(import.meta.filename, [JSON.stringify(orders)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const callers: { progress: Progress; stop(): Promise<void> } = {
    progress: { opened: 0, closed: 0, unanswered: 0, statuses: {}, inOrder: 0 },
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
  child.on('message', (message) => (callers.progress = message as Progress));
  return callers;
}

/** As many headers as a head may have, that fill it: the most memory that an unfinished one takes. */
const LARGEST_HEADERS = Array.from({ length: 255 }, (_, at) => `x${at}: ${'v'.repeat(92)}\r\n`).join('');
const TINY_CHUNKS = '1\r\nx\r\n'.repeat(100_000);
const HEAD_END = '\r\nHost: a\r\n\r\n';
/** Sockets that are opened at once: fewer than a listener's queue holds. */
const OPEN_AT_ONCE = 100;

class Work {
  readonly progress: Progress = { opened: 0, closed: 0, unanswered: 0, statuses: {}, inOrder: 0 };
  readonly sockets: Socket[] = [];

  open(port: number, first: string, localAddress = '127.0.0.1'): Socket {
    const socket = connect({ port, host: '127.0.0.1', localAddress }, () => void this.progress.opened++);
    socket
      .on('error', () => undefined)
      .on('close', () => {
        this.progress.closed++;
        if (socket.bytesRead === 0) this.progress.unanswered++;
      });
    let rest = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#read(line);
    });
    this.sockets.push(socket);
    socket.write(first);
    return socket;
  }

  async openMany(count: number, addresses: number, open: { port: number; first: string }): Promise<void> {
    for (let at = 0; at < count; at++) {
      const socket = this.open(open.port, open.first, `127.0.0.${1 + (at % addresses)}`);
      if (at % OPEN_AT_ONCE === 0) await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    }
  }

  async openWhenAnswered(count: number, open: { port: number; first: string }): Promise<void> {
    const openNext = async (): Promise<void> => {
      while (this.sockets.length < count) {
        const socket = this.open(open.port, open.first);
        await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
      }
    };
    await Promise.all(Array.from({ length: OPEN_AT_ONCE }, openNext));
  }

  #read(line: string): void {
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1];
    if (status !== undefined) this.progress.statuses[status] = (this.progress.statuses[status] ?? 0) + 1;
    else if (line.startsWith('X-Call:') && Number(line.slice(7)) === this.progress.inOrder) this.progress.inOrder++;
  }
}

async function obey(orders: Orders): Promise<void> {
  const work = new Work();
  setInterval(() => process.send?.(work.progress), 250);
  process.on('disconnect', () => process.exit(0));
  const { port, path } = orders;
  if (orders.kind === 'pipeline') {
    const calls = Array.from({ length: orders.calls }, (_, at) => `GET ${path}/${at} HTTP/1.1${HEAD_END}`);
    work.open(port, calls.join(''));
  } else if (orders.kind === 'connections') {
    await work.openMany(orders.sockets, 1, { port, first: `GET ${path}/0 HTTP/1.1${HEAD_END}` });
  } else if (orders.kind === 'bodies') {
    const first = `POST ${path} HTTP/1.1\r\nContent-Length: 1000000${HEAD_END}`;
    await work.openWhenAnswered(orders.sockets, { port, first });
  } else if (orders.kind === 'chunks') {
    const first = `POST ${path} HTTP/1.1\r\nTransfer-Encoding: chunked${HEAD_END}${TINY_CHUNKS}`;
    await work.openMany(orders.sockets, 1, { port, first });
  } else if (orders.kind === 'heads') {
    await work.openMany(orders.sockets, 1, { port, first: `GET ${path} HTTP/1.1\r\n${LARGEST_HEADERS}` });
  } else {
    void work.openMany(orders.sockets, DRIP_ADDRESSES, { port, first: `GET ${path} HTTP/1.1\r\nX-A: ` });
    setInterval(() => work.sockets.forEach((socket) => socket.writable && socket.write('G')), 1000);
  }
}

if (process.argv[1] === import.meta.filename && process.send !== undefined)
  await obey(JSON.parse(process.argv[2] ?? '') as Orders);
