import type { z } from 'zod';
import { invalid, type DomainError, type ErrorDetail } from '@wherry/core/errors.ts';

/**
 * Checks a part of a request.
 * @param what names it in the error: `body`, `query`.
 * @throws DomainError `validation_failed` with a detail for each offending field.
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw validationError(result.error.issues, what);
}

/** A sentence about the first problem, and all of them as details. */
function validationError(issues: readonly z.core.$ZodIssue[], what: string): DomainError {
  return refused(issues.flatMap(toDetails), what);
}

/** The error of one or more known fields. */
export function refused(details: ErrorDetail[], what = 'body'): DomainError {
  const first = details[0];
  const subject = first === undefined || first.path === '' ? `The ${what}` : first.path;
  const more = details.length > 1 ? ` (and ${details.length - 1} more)` : '';
  return invalid(`${subject}: ${first?.message ?? 'is not valid'}${more}.`, details);
}

/** A field that is fixed after creation may be sent back as it was read. @throws DomainError when it differs. */
export function requireSame(field: string, given: string | undefined, current: string): void {
  if (given === undefined || given === current) return;
  throw refused([{ path: field, message: `is fixed after creation (it is ${current})` }]);
}

function toDetails(issue: z.core.$ZodIssue): ErrorDetail[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: 'is not a known field' }));
  }
  if (issue.code === 'invalid_type' && issue.input === undefined)
    return [{ path: path.join('.'), message: 'is required' }];
  return [{ path: path.join('.'), message: sentence(issue.message) }];
}

/** zod's own messages in the form of ours: what the field must be. */
function sentence(message: string): string {
  return message
    .replace(/^Invalid input: expected (.+), received (.+)$/, 'must be $1, not $2')
    .replace(/^Invalid option: expected one of (.+)$/, 'must be one of $1')
    .replace(/^Too (small|big): expected .+? to (have|be) (.+)$/, 'must $2 $3')
    .replace(/^Invalid /, 'is not a valid ');
}
