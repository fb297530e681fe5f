import { issueMessage } from '@wherry/core/issue-message.ts';
import { invalid } from '@wherry/core/errors.ts';
import type { z } from 'zod';

/** At most this many issues of a large body are reported. */
const MAX_ISSUES = 5;

/** @throws DomainError `validation_failed` that names what is wrong, and no value. */
export function parsed<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const details = result.error.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => ({ path: path.join('.'), message: issueMessage(message) }));
  throw invalid(
    `The body is not valid: ${details.map(({ path, message }) => `${path}: ${message}`).join('; ')}.`,
    details,
  );
}
