import type { z } from 'zod';
import { invalid, type DomainError, type ErrorDetail } from '@wherry/core/errors.ts';

/**
 * Checks a part of a request.
 * @param part names it in the error: `body`, `query`.
 * @throws DomainError `validation_failed` with a detail for each offending field; the first one makes its sentence.
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown, part: string): z.output<S> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const { issues } = result.error;
  // First what is not known: a misspelt name is often the reason that another is missing.
  const isUnknown = ({ code }: z.core.$ZodIssue): boolean => code === 'unrecognized_keys';
  const sorted = [...issues.filter(isUnknown), ...issues.filter((issue) => !isUnknown(issue))];
  throw refused(
    sorted.flatMap((issue) => toDetails(issue, part)),
    part,
  );
}

/** The error of one or more fields. */
export function refused(details: ErrorDetail[], part = 'body'): DomainError {
  const first = details[0];
  const subject = first === undefined || first.path === '' ? `The ${part}` : first.path;
  const more = details.length > 1 ? ` (and ${details.length - 1} more)` : '';
  return invalid(`${subject}: ${first?.message ?? 'is not valid'}${more}.`, details);
}

/** A field that is fixed after creation may be sent back as it was read. @throws DomainError when it differs. */
export function requireSame(field: string, given: string | undefined, current: string): void {
  if (given === undefined || given === current) return;
  throw refused([{ path: field, message: `is fixed after creation (it is ${current})` }]);
}

function toDetails(issue: z.core.$ZodIssue, part: string): ErrorDetail[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const message = part === 'query' ? 'is not a known query parameter' : 'is not a known field';
    return issue.keys.map((key) => ({ path: [...path, key].join('.'), message }));
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
    .replace(/^Too small: expected .+? to have >=1 \w+$/, 'must not be empty')
    .replace(/^Too (?:small|big): expected .+? to (have|be) (.+)$/, 'must $1 $2')
    .replace(/^(must (?:have|be)) >=/, '$1 at least ')
    .replace(/^(must (?:have|be)) <=/, '$1 at most ')
    .replace(/^Invalid /, 'is not a valid ');
}
