import { issueMessage } from '@wherry/core/issue-message.ts';
import type { z } from 'zod';
import { StartError } from './start-error.ts';

/**
 * A program's configuration from its environment. Empty variables count as unset.
 * @throws StartError that names each bad variable and what is wrong with it; never its value, which may be a secret.
 */
export function loadConfig<T>(schema: z.ZodType<T>, environment: Record<string, string | undefined>): T {
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = schema.safeParse(set);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issueMessage(issue.message)}`);
  throw new StartError(`The configuration is not valid: ${problems.join('; ')}`);
}
