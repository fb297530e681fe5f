import { RunningCalls } from './running-calls.ts';

describe('RunningCalls', () => {
  it('waits for a call that came while the instance drained, though there was none for a moment before', async () => {
    const running = new RunningCalls();
    running.began();
    running.draining = true;
    running.ended();
    running.began();
    let isOver = false;
    const finished = running.finished().then(() => (isOver = true));
    await Promise.resolve();
    expect(isOver).toBe(false);
    running.ended();
    await finished;
  });

  it('is finished at once when no call runs', async () => {
    await new RunningCalls().finished();
  });
});
