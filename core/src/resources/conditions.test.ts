import { findCondition, REASONS, setConditions, type ConditionDecision } from './conditions.ts';

const ready: ConditionDecision = { type: 'Ready', status: 'True', reason: 'Ready', message: '' };
const broken: ConditionDecision = { type: 'Ready', status: 'False', reason: 'SyntaxError', message: 'hello.ts:1:2' };
const at = (seconds: number, generation = 1): { generation: number; now: number } => ({
  generation,
  now: seconds * 1000,
});

describe('setConditions', () => {
  it('makes conditions, sorted by type', () => {
    const accepted: ConditionDecision = { type: 'RouteAccepted', status: 'True', reason: 'Accepted', message: '' };
    expect(setConditions(undefined, [accepted, ready], at(60, 3))).toEqual([
      { ...ready, lastTransitionTime: '1970-01-01T00:01:00.000Z', observedGeneration: 3 },
      { ...accepted, lastTransitionTime: '1970-01-01T00:01:00.000Z', observedGeneration: 3 },
    ]);
  });

  it('K3: gives back the same array when nothing differs, so that no write follows', () => {
    const first = setConditions([], [ready], at(1));
    expect(setConditions(first, [ready], at(2))).toBe(first);
    expect(setConditions(first, [], at(2))).toBe(first);
    const long = { ...ready, message: 'x'.repeat(5000) };
    const second = setConditions([], [long], at(1));
    expect(setConditions(second, [long], at(2))).toBe(second);
  });

  it('moves the time only where the status does', () => {
    const first = setConditions([], [broken], at(1));
    const other = setConditions(first, [{ ...broken, reason: 'LoadError', message: 'other' }], at(2));
    expect(findCondition(other, 'Ready')).toMatchObject({
      reason: 'LoadError',
      message: 'other',
      lastTransitionTime: '1970-01-01T00:00:01.000Z',
    });
    expect(setConditions(other, [ready], at(3))).toMatchObject([
      { status: 'True', lastTransitionTime: '1970-01-01T00:00:03.000Z' },
    ]);
  });

  it('notes a new generation though nothing else differs', () => {
    const first = setConditions([], [ready], at(1, 1));
    expect(setConditions(first, [ready], at(2, 2))).toMatchObject([
      { observedGeneration: 2, lastTransitionTime: '1970-01-01T00:00:01.000Z' },
    ]);
  });

  it("leaves conditions that were not decided, and the caller's list, alone", () => {
    const first = setConditions([], [{ ...ready, type: 'Available' }], at(1));
    const copy = structuredClone(first);
    expect(setConditions(first, [ready], at(2)).map(({ type }) => type)).toEqual(['Available', 'Ready']);
    expect(first).toEqual(copy);
  });

  it.each<[ConditionDecision, string[]]>([
    [ready, ['Ready']],
    [broken, ['Ready', 'Stalled']],
    [{ ...broken, reason: 'RegistryUnavailable' }, ['Ready', 'Reconciling']],
    [{ ...broken, status: 'Unknown', reason: 'Building' }, ['Ready', 'Reconciling']],
    [{ ...broken, reason: 'Disabled' }, ['Ready']],
  ])('K3: with %j come %j, whatever was there before, and are written once', (decision, types) => {
    for (const before of [ready, broken, { ...broken, reason: 'Building' as const }]) {
      const first = setConditions(setConditions([], [before], at(1)), [decision], at(2));
      expect(first.map(({ type }) => type)).toEqual(types);
      expect(
        first
          .filter(({ type }) => type !== 'Ready')
          .every(({ status, reason }) => status === 'True' && reason === decision.reason),
      ).toBe(true);
      expect(setConditions(first, [decision], at(3))).toBe(first);
    }
  });

  it('cuts a message to what the schema takes', () => {
    expect(setConditions([], [{ ...ready, message: 'x'.repeat(5000) }], at(1))[0]?.message).toHaveLength(4096);
  });
});

it('findCondition finds by type', () => {
  const conditions = setConditions([], [ready], at(1));
  expect(findCondition(conditions, 'Ready')).toBe(conditions[0]);
  expect(findCondition(conditions, 'Available')).toBeUndefined();
  expect(findCondition(undefined, 'Ready')).toBeUndefined();
});

it('every reason is CamelCase, as Kubernetes wants it, and stands once', () => {
  for (const reason of REASONS) expect(reason).toMatch(/^[A-Z][A-Za-z]{1,127}$/);
  expect(new Set(REASONS).size).toBe(REASONS.length);
});
