/** `npm run verify`: regenerates every generated file, and exits with 1 when one differs from what was there. */
import { generators } from './generators.ts';
import { root, runCommand } from './run-command.ts';
import { verifyGenerated } from './verify-generated.ts';

for (const generator of generators) {
  const problems = await verifyGenerated(generator, root, (program) => runCommand('node', [program]));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(`${generator.name}: up to date`);
}
