/**
 * Writes `crds/snapshots`: what the definitions accept, so that later changes can be compared with it. Refuses if
 * something is no longer accepted, unless called with `--narrow`.
 */
import process from 'node:process';
import { ALL_KINDS } from '@wherry/core/resources/kinds.ts';
import { fieldSet } from './compatibility/field-set.ts';
import { narrowings } from './compatibility/narrowings.ts';
import { ADVICE, readSnapshot, writeSnapshot } from './compatibility/snapshots.ts';

const problems = ALL_KINDS.flatMap((kind) =>
  narrowings(readSnapshot(kind) ?? {}, fieldSet(kind)).map((problem) => `${kind}: ${problem}`),
);
if (problems.length > 0 && !process.argv.includes('--narrow')) {
  process.stderr.write(`${problems.join('\n')}\n${ADVICE}\n`);
  process.exitCode = 1;
} else {
  for (const kind of ALL_KINDS) writeSnapshot(kind, fieldSet(kind));
}
