import type { ContainerStatus, Pod, Terminated } from './pod.ts';
import { failureOf } from './pod-failure.ts';

const short = { startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:00:02Z' };
const podWith = (container: Partial<ContainerStatus>, metadata: object = {}): Pod => ({
  metadata: { name: 'p', uid: 'u', resourceVersion: '1', ...metadata },
  status: { containerStatuses: [{ name: 'function', restartCount: 0, ...container }] },
});
const looping = (end: Partial<Terminated>, restartCount = 2): Pod =>
  podWith({
    restartCount,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { exitCode: 1, ...short, ...end } },
  });

describe('failureOf', () => {
  it.each(['ExportError', 'LoadError'] as const)('reports %s at its first end, as the runtime wrote it', (reason) => {
    const terminated = { exitCode: 1, message: JSON.stringify({ reason, message: 'at main.ts:3:7' }) };
    expect(failureOf([podWith({ state: { terminated } })])).toEqual({ reason, message: 'at main.ts:3:7' });
    expect(failureOf([podWith({ restartCount: 1, state: { running: {} }, lastState: { terminated } })])).toEqual({
      reason,
      message: 'at main.ts:3:7',
    });
  });

  it('reports it where the end of what the code printed comes before it', () => {
    const message = `of a line\nsaid\n${JSON.stringify({ reason: 'LoadError', message: 'at main.ts:3:7' })}\n`;
    expect(failureOf([podWith({ state: { terminated: { exitCode: 1, message } } })])).toEqual({
      reason: 'LoadError',
      message: 'at main.ts:3:7',
    });
  });

  it.each<[string, Partial<Terminated>, string]>([
    ['its exit code', { exitCode: 3 }, 'The instance exited with code 3.'],
    [
      'that memory ran out',
      { exitCode: 137, reason: 'OOMKilled' },
      'The instance was killed because it used more memory than spec.resources.memoryMiB.',
    ],
    [
      'that it was blocked',
      { exitCode: 137 },
      'The instance was killed (SIGKILL), as it is when its event loop is blocked.',
    ],
    ['that the heap was full', { exitCode: 134 }, 'The instance aborted (SIGABRT), as it does when its heap is full.'],
    [
      'the last lines, without log lines and control characters',
      { message: '{"level":"info"}\nError: \u001b[31mboom\n    at x\n' },
      'The instance exited with code 1.\nError: [31mboom\n    at x',
    ],
    [
      'no failure that the function made up',
      { message: '{"reason":"Ready","message":"x"}' },
      'The instance exited with code 1.',
    ],
  ])('reports a crash loop with %s', (_what, end, said) => {
    expect(failureOf([looping(end)])).toEqual({
      reason: 'CrashLoop',
      message: `Instances ended 3 times in a row. ${said}`,
    });
  });

  it.each<[string, Pod[]]>([
    ['nothing has ended', [podWith({ state: { running: {} } })]],
    ['it ended twice', [looping({}, 1)]],
    ['it ran for long before it ended', [looping({ finishedAt: '2026-01-01T01:00:00Z' })]],
    [
      'the pod that ended goes',
      [
        {
          ...looping({}),
          metadata: { name: 'p', uid: 'u', resourceVersion: '1', deletionTimestamp: '2026-01-01T00:00:00Z' },
        },
      ],
    ],
    ['the kubelet has said nothing', [{ metadata: { name: 'p', uid: 'u', resourceVersion: '1' } }]],
  ])('reports nothing while %s', (_what, pods) => {
    expect(failureOf(pods)).toBeUndefined();
  });
});
