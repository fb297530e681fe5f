import { readFile } from 'node:fs/promises';
import { StartError } from '@wherry/service/start-error.ts';
import type { z } from 'zod';

/**
 * The one value in the file that a variable names: a mounted Secret.
 * @returns undefined where the variable is not set.
 * @throws StartError for a file that cannot be read, or whose content is not valid; never with the content.
 */
export async function readMountedText(
  variable: string,
  file: string | undefined,
  schema: z.ZodType<string, string>,
): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new StartError(
      `${variable}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`,
      error,
    );
  });
  const value = schema.safeParse(text.trim());
  if (value.success) return value.data;
  throw new StartError(`${variable}: the content of ${file} ${value.error.issues[0]?.message ?? 'is not valid'}`);
}
