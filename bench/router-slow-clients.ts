/**
 * R11 at full size: 5,000 sockets that send a byte a second, while another caller goes on. Prints how many of its calls
 * succeeded and when the last slow socket was gone. Run: node bench/router-slow-clients.ts
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Harness, routerFunction } from '@wherry/router/testing/harness.ts';

const SOCKETS = 5000;

/** The slow side, in a process of its own so that each side has its own limit on open files. */
async function attack(port: number): Promise<void> {
  const sockets: Socket[] = [];
  let gone = 0;
  for (let n = 0; n < SOCKETS; n++) {
    const socket = connect(port, '127.0.0.1');
    socket
      .on('error', () => undefined)
      .on('close', () => gone++)
      .resume();
    sockets.push(socket);
    if (n % 250 === 0) await once(socket, 'connect');
  }
  const start = performance.now();
  const drip = setInterval(() => sockets.forEach((socket) => socket.writable && socket.write('G')), 1000);
  sockets.forEach((socket) => socket.write('GET /run/hello HTTP/1.1\r\nX-A: '));
  while (gone < SOCKETS && performance.now() - start < 30_000) await new Promise((resolve) => setTimeout(resolve, 50));
  clearInterval(drip);
  process.send?.({ gone, seconds: (performance.now() - start) / 1000 });
  process.disconnect();
}

async function measure(): Promise<void> {
  const harness = await Harness.start();
  await harness.serve([routerFunction({ instances: [await harness.instance((_req, res) => void res.end('ok'))] })]);
  const child = fork(import.meta.filename, [String(harness.port)]);
  let report: { gone: number; seconds: number } | undefined;
  child.on('message', (message) => (report = message as typeof report));
  let calls = 0;
  let good = 0;
  while (report === undefined) {
    calls++;
    if ((await harness.call('/run/hello').catch(() => undefined))?.status === 200) good++;
  }
  console.log(`other callers: ${good} of ${calls} good (${((100 * good) / calls).toFixed(2)} %, goal 99.9 %)`);
  console.log(
    `slow sockets: ${report.gone} of ${SOCKETS} gone, the last after ${report.seconds.toFixed(1)} s (goal 15 s)`,
  );
  await harness.stop();
}

await (process.argv[2] === undefined ? measure() : attack(Number(process.argv[2])));
