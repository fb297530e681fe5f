import { eventually, Harness, routerFunction } from '../testing/harness.ts';
import { HELD_TIMEOUT_MS, HeldTimeouts } from '../testing/held-timeouts.ts';

it('R9: the time of an answered call ends with it, and its connection stays', async () => {
  const timeouts = new HeldTimeouts();
  const harness = await Harness.start({ clock: timeouts.clock });
  const instance = await harness.instance((_req, res) => void res.end('answered'));
  await harness.serve([routerFunction({ timeoutMs: HELD_TIMEOUT_MS, instances: [instance] })]);
  const socket = harness.connect();
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const answers = async (count: number): Promise<void> => {
    socket.write('GET /run/hello HTTP/1.1\r\nHost: a\r\n\r\n');
    await eventually(() => socket.destroyed || text.split('answered').length === count + 1);
  };
  await answers(1);
  // When a second one has been answered, the first is over.
  await answers(2);
  timeouts.ends[0]?.();
  await answers(3);
  expect([socket.destroyed, timeouts.ends.length]).toEqual([false, 3]);
  await harness.stop();
});
