import type { Clock } from '@wherry/core/ports/clock.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { eventually, Harness, routerFunction } from '../testing/harness.ts';

it('R9: the time of an answered call ends with it, and its connection stays', async () => {
  const times: { isOver: boolean; end: () => void }[] = [];
  const after: Clock['after'] = (ms, callback) => {
    if (ms < 1_000_000) return systemClock.after(ms, callback);
    const time = { isOver: false, end: callback };
    times.push(time);
    return () => void (time.isOver = true);
  };
  const harness = await Harness.start({ clock: { ...systemClock, after } });
  const instance = await harness.instance((_req, res) => void res.end('answered'));
  await harness.serve([routerFunction({ timeoutMs: 3_600_000, instances: [instance] })]);
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
  for (const { isOver, end } of times.slice(0, 1)) if (!isOver) end();
  await answers(3);
  expect([socket.destroyed, times.length]).toEqual([false, 3]);
  await harness.stop();
});
