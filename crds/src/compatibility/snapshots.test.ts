import { ALL_KINDS } from '@wherry/core/resources/kinds.ts';
import { fieldSet } from './field-set.ts';
import { narrowings } from './narrowings.ts';
import { ADVICE, readSnapshot } from './snapshots.ts';

describe('the definitions accept what they accepted', () => {
  it.each(ALL_KINDS)('of %s', (kind) => {
    const problems = narrowings(readSnapshot(kind) ?? {}, fieldSet(kind));
    if (problems.length > 0) throw new Error(`${kind}:\n  ${problems.join('\n  ')}\n${ADVICE}`);
  });

  it.each(ALL_KINDS)('and the snapshot of %s knows all of it', (kind) => {
    const now = JSON.parse(JSON.stringify(fieldSet(kind))) as unknown;
    const hint = 'What is new must be kept from now on as well: node crds/src/take-snapshots.ts';
    expect({ hint, fields: readSnapshot(kind) }).toEqual({ hint, fields: now });
  });
});
