import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { root, toolEnvironment } from './run-command.ts';

interface CruiseResult {
  modules: { source: string }[];
  summary: {
    violations: { from: string; to: string; rule: { name: string }; cycle?: { name: string }[] }[];
    ruleSetUsed: { forbidden: { name: string; comment?: string }[] };
  };
}

/**
 * Checks the imports of a source tree against the rules of .dependency-cruiser.js.
 * @param tree the folder that holds the parts, a tsconfig.json and node_modules
 * @param parts the folders to check
 * @returns one line a violation; a TypeScript file that was not read is one, too: with a compiler that
 *   dependency-cruiser does not understand, it skips every such file and finds nothing wrong
 */
export async function checkImports(tree: string, parts: readonly string[]): Promise<string[]> {
  const { modules, summary } = await cruise(tree, parts);
  const why = new Map(summary.ruleSetUsed.forbidden.map(({ name, comment }) => [name, comment ?? '']));
  const violations = summary.violations.map(({ from, to, rule, cycle }) => {
    const target = cycle === undefined ? to : cycle.map(({ name }) => name).join(' → ');
    return `${from} → ${target}: ${why.get(rule.name) ?? ''} (${rule.name})`;
  });
  const cruised = new Set(modules.map(({ source }) => source));
  const missed = typeScriptFiles(tree, parts).filter((file) => !cruised.has(file));
  return [...violations, ...missed.map((file) => `${file}: dependency-cruiser did not read it (unread-file)`)];
}

function typeScriptFiles(tree: string, parts: readonly string[]): string[] {
  const exclude = (name: string): boolean => ['node_modules', 'dist'].includes(path.basename(name));
  const files = parts.flatMap((part) => globSync(`${part}/**/*.{ts,tsx}`, { cwd: tree, exclude }));
  return files.filter((file) => !file.startsWith('e2e/package-matrix/fixtures/')).sort();
}

function cruise(tree: string, parts: readonly string[]): Promise<CruiseResult> {
  const config = path.join(root, '.dependency-cruiser.js');
  const args = ['--config', config, '--output-type', 'json', ...parts];
  const options = { cwd: tree, env: toolEnvironment(), maxBuffer: 256 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    // Its exit code is the number of violations, so only an output that is not JSON is an error of the program.
    execFile('depcruise', args, options, (_error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout) as CruiseResult);
      } catch (cause) {
        reject(new Error(`dependency-cruiser failed: ${stderr || stdout}`, { cause }));
      }
    });
  });
}
