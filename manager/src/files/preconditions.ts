import type { IncomingMessage } from 'node:http';
import { DomainError } from '@wherry/core/errors.ts';
import type { TreeEntry } from '@wherry/core/trees/tree.ts';

/** What must hold for the file at the moment its source's head moves. */
export interface Preconditions {
  ifMatch: string | undefined;
  ifNoneMatch: string | undefined;
}

export function preconditionsOf(request: IncomingMessage): Preconditions {
  return { ifMatch: request.headers['if-match'], ifNoneMatch: request.headers['if-none-match'] };
}

/** The entity tag of a file: its content's digest. */
export function etagOf(digest: string): string {
  return `"${digest}"`;
}

/** @throws DomainError `precondition_failed`. @param current undefined when there is no such file. */
export function checkPreconditions(given: Preconditions, current: TreeEntry | undefined): void {
  const tag = current === undefined ? undefined : etagOf(current.digest);
  if (given.ifMatch !== undefined && !listed(given.ifMatch, tag)) {
    throw new DomainError('precondition_failed', 'The file does not match If-Match: read it again.');
  }
  if (given.ifNoneMatch !== undefined && listed(given.ifNoneMatch, tag)) {
    throw new DomainError(
      'precondition_failed',
      'The file already exists, but If-None-Match requires that it does not.',
    );
  }
}

/** Whether a reader has this version already. */
export function isCurrent(given: Preconditions, entry: Pick<TreeEntry, 'digest'>): boolean {
  return given.ifNoneMatch !== undefined && listed(given.ifNoneMatch.replaceAll('W/', ''), etagOf(entry.digest));
}

/** `*` stands for any file that exists. A weak tag matches nothing: writes compare strongly. */
function listed(header: string, tag: string | undefined): boolean {
  if (tag === undefined) return false;
  return header.trim() === '*' || header.split(',').some((candidate) => candidate.trim() === tag);
}
