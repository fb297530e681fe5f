import { fc } from '@wherry/testing/properties.ts';
import { nameSchema } from './resources/meta.ts';
import { workloadName } from './workload-name.ts';

const template = { memoryMiB: 128, cpuMillis: null };

describe('workloadName', () => {
  it('is a DNS label for every function name', () => {
    const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
    fc.assert(
      fc.property(
        name,
        (functionName) => nameSchema.safeParse(workloadName(functionName, 'a'.repeat(64), template)).success,
      ),
    );
  });

  it('is one for each function, revision and template', () => {
    const names = [
      workloadName('a', 'r1', template),
      workloadName('b', 'r1', template),
      workloadName('a', 'r2', template),
      workloadName('a', 'r1', { ...template, memoryMiB: 256 }),
      workloadName('a', 'r1', { ...template, cpuMillis: 100 }),
      workloadName(`${'a'.repeat(60)}b`, 'r1', template),
      workloadName(`${'a'.repeat(60)}c`, 'r1', template),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(workloadName('a', 'r1', { cpuMillis: null, memoryMiB: 128 })).toBe(names[0]);
  });
});
