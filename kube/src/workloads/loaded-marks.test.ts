import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { LoadedMarks } from './loaded-marks.ts';
import type { Pod } from './pod.ts';

const podThat = (isReady: boolean, more: Partial<Pod['metadata']> = {}): Pod => ({
  metadata: { name: 'p', uid: 'u', resourceVersion: '1', ...more },
  status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
});
const READY = podThat(true);
const UNREADY = podThat(false);

describe('LoadedMarks', () => {
  let clock: FakeClock;
  let marks: LoadedMarks;
  beforeEach(() => {
    clock = new FakeClock();
    marks = new LoadedMarks(clock);
  });
  /** What the pod says, one after the other, each with its endpoint. @returns after which the mark still held. */
  const holdsAfter = (...states: [Pod, boolean][]): boolean[] =>
    states.map(([pod, endpointReady]) => {
      marks.update(pod, endpointReady);
      return marks.has(pod);
    });

  it('holds until pod and endpoint both say ready, or the pod takes its word back', () => {
    marks.add(UNREADY);
    expect(holdsAfter([UNREADY, false], [READY, false], [READY, true])).toEqual([true, true, false]);
    marks.add(UNREADY);
    expect(holdsAfter([READY, false], [UNREADY, false])).toEqual([true, false]);
  });

  it('S3: is not held against by what is still said of the container before', () => {
    marks.add(READY);
    expect(holdsAfter([READY, true], [UNREADY, true], [UNREADY, false], [READY, false], [READY, true])).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  it('is nothing against the word of a pod that has had half a minute', async () => {
    marks.add(READY);
    await clock.advance(31_000);
    expect(holdsAfter([UNREADY, true])).toEqual([false]);
  });

  it('ends with the pod that is terminating', () => {
    marks.add(UNREADY);
    expect(holdsAfter([podThat(false, { deletionTimestamp: '2026-01-01T00:00:00Z' }), false])).toEqual([false]);
  });

  it('is taken back by who set it, not by who did before', () => {
    const first = marks.add(UNREADY);
    const second = marks.add(UNREADY);
    first();
    expect(marks.has(UNREADY)).toBe(true);
    second();
    expect(marks.has(UNREADY)).toBe(false);
  });
});
