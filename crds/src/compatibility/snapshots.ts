import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { KINDS, type Kind } from '@wherry/core/resources/kinds.ts';
import { VERSION } from '../definition/custom-resource-definition.ts';
import type { FieldSet } from './field-set.ts';

/** What to do about a snapshot that no longer fits; the end of every error message. */
export const ADVICE =
  `Objects of ${VERSION} that are stored, or kept in git, must stay valid. So keep what was accepted, with a default for what is new; ` +
  `or serve a new version of the API beside ${VERSION}. Only where nobody can have such an object: node crds/src/take-snapshots.ts --narrow`;

/** Where the accepted fields of a kind are written down. */
function snapshotFile(kind: Kind): string {
  return path.join(import.meta.dirname, '../../snapshots', VERSION, `${KINDS[kind].plural}.json`);
}

/** What was accepted when the snapshot was taken; undefined when there is none yet. */
export function readSnapshot(kind: Kind): FieldSet | undefined {
  try {
    return JSON.parse(readFileSync(snapshotFile(kind), 'utf8')) as FieldSet;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces the snapshot of a kind. */
export function writeSnapshot(kind: Kind, fields: FieldSet): void {
  const lines = Object.entries(fields).map(
    ([field, limits]) => `  ${JSON.stringify(field)}: ${JSON.stringify(limits)}`,
  );
  writeFileSync(snapshotFile(kind), `{\n${lines.join(',\n')}\n}\n`);
}
