/** `npm run lint`: ESLint, then the import table. Exits with 1 when either finds anything. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkImports } from './check-imports.ts';
import { root, runCommand } from './run-command.ts';

function workspaces(): string[] {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { workspaces: string[] };
  return manifest.workspaces;
}

const eslintCode = await runCommand('eslint', ['--max-warnings', '0', '.']);

const violations = await checkImports(root, workspaces());
for (const violation of violations) console.error(violation);
if (violations.length > 0) console.error(`\n${violations.length} imports break the rules of .dependency-cruiser.js`);

process.exitCode = eslintCode === 0 && violations.length === 0 ? 0 : 1;
