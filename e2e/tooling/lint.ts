/** `npm run lint`: the format and ESLint side by side, then the import table. Exits with 1 when any finds anything. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkImports } from './check-imports.ts';
import { root, runCommand } from './run-command.ts';

function workspaces(): string[] {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { workspaces: string[] };
  return manifest.workspaces;
}

const [formatCode, eslintCode] = await Promise.all([
  runCommand('prettier', ['--check', '--log-level', 'warn', '.']),
  runCommand('eslint', ['--max-warnings', '0', '.']),
]);
if (formatCode !== 0) console.error('\nnpm run format formats these files.');

const violations = await checkImports(root, workspaces());
for (const violation of violations) console.error(violation);
if (violations.length > 0) console.error(`\n${violations.length} imports break the rules of .dependency-cruiser.js`);

process.exitCode = formatCode === 0 && eslintCode === 0 && violations.length === 0 ? 0 : 1;
