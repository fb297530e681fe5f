import type { z } from 'zod';
import { issueMessage } from '@wherry/core/issue-message.ts';
import { invalid, type DomainError, type ErrorDetail } from '@wherry/core/errors.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/**
 * Checks a part of a request.
 * @param part names it in the error: `body`, `query`.
 * @throws DomainError `validation_failed` with a detail for each offending field, the first hundred of them; the first one
 *   makes its sentence.
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown, part: string): z.output<S> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const { issues } = result.error;
  // Unknown fields first: a misspelt name is often the reason that another one is missing.
  const isUnknown = ({ code }: z.core.$ZodIssue): boolean => code === 'unrecognized_keys';
  const sorted = [...issues.filter(isUnknown), ...issues.filter((issue) => !isUnknown(issue))];
  throw refused(
    sorted.flatMap((issue) => toDetails(issue, part)),
    part,
  );
}

/** The error of one or more fields. */
export function refused(details: ErrorDetail[], part = 'body'): DomainError {
  const { path, message } = details[0] ?? { path: '', message: 'is not valid' };
  const subject = path === '' ? `The ${part}` : `${path}:`;
  return invalid(
    `${subject} ${message}${alsoWrong(details.length - 1)}.`,
    details.slice(0, MANAGER_LIMITS.errorDetails),
  );
}

function alsoWrong(more: number): string {
  if (more < 1) return '';
  return more === 1 ? '; there is 1 more error' : `; there are ${more} more errors`;
}

/** A field that cannot be changed after creation may be sent back as it was read. @throws DomainError when it differs. */
export function requireSame(field: string, given: string | null | undefined, current: string | null): void {
  if (given === undefined || given === current) return;
  throw refused([{ path: field, message: `cannot be changed after creation (it is ${current})` }]);
}

function toDetails(issue: z.core.$ZodIssue, part: string): ErrorDetail[] {
  // A query parameter is one text, whatever it lists.
  const path = (part === 'query' ? issue.path.slice(0, 1) : issue.path).map(String);
  if (issue.code === 'unrecognized_keys') {
    const message = part === 'query' ? 'is not a known query parameter' : 'is not a known field';
    return issue.keys.map((key) => ({ path: [...path, key].join('.'), message }));
  }
  if ((issue.code === 'invalid_type' || issue.code === 'invalid_value') && issue.input === undefined)
    return [{ path: path.join('.'), message: 'is required' }];
  return [{ path: path.join('.'), message: issueMessage(issue.message) }];
}
