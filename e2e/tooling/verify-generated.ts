import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Generator } from './generators.ts';

/**
 * Runs a generator and compares what it wrote with what was there. The new text stays in place, to be committed.
 * @param tree the folder that program and outputs are relative to
 * @param run runs a program there and gives its exit code
 * @returns one line a problem; none when every output is as it was
 */
export async function verifyGenerated(
  { name, program, outputs }: Generator,
  tree: string,
  run: (program: string) => Promise<number>,
): Promise<string[]> {
  const read = (file: string): string | undefined => {
    const absolute = path.join(tree, file);
    return existsSync(absolute) ? readFileSync(absolute, 'utf8') : undefined;
  };
  const before = outputs.map(read);
  const code = await run(program);
  if (code !== 0) return [`${name}: ${program} ended with code ${code}`];
  return outputs.flatMap((file, index) => {
    const after = read(file);
    if (after === undefined) return [`${name}: ${program} did not write ${file}`];
    return after === before[index] ? [] : [`${name}: ${file} was out of date. It is written again: commit it.`];
  });
}
