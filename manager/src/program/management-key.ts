import { readFile } from 'node:fs/promises';
import { keyValueSchema } from '@wherry/core/crypto/key-value.ts';
import { StartError } from '@wherry/service/start-error.ts';

/** @throws StartError for a file that cannot be read, or holds no value of a key; never with the value. */
export async function readManagementKey(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new StartError(
      `WHERRY_MANAGEMENT_KEY_FILE: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`,
      error,
    );
  });
  const value = keyValueSchema.safeParse(text.trim());
  if (value.success) return value.data;
  throw new StartError(
    `WHERRY_MANAGEMENT_KEY_FILE: the content of ${file} ${value.error.issues[0]?.message ?? 'is not valid'}`,
  );
}
