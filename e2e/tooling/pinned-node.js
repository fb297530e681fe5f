// Runs a TypeScript program of this folder under the Node.js that package.json pins. npm scripts find it in PATH by
// themselves; where it is another one that starts us (by hand, or no pinned one for this machine), it delegates or
// prints what to do. Plain JavaScript, since Node.js 20 cannot read TypeScript.
//   node e2e/tooling/pinned-node.js e2e/tooling/test.ts [arguments]
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const root = path.resolve(import.meta.dirname, '../..');
const pinned = path.join(root, 'node_modules/.bin/node');
const isRight = process.versions.node.startsWith('24.');
const [program, ...args] = process.argv.slice(2);

if (!existsSync(path.join(root, 'node_modules'))) {
  console.error(`Run \`npm ci\` in ${root} first.`);
  process.exitCode = 1;
} else if (isRight) {
  process.argv.splice(1, 1);
  await import(pathToFileURL(path.resolve(program)).href);
} else if (existsSync(pinned)) {
  process.exitCode = spawnSync(pinned, [program, ...args], { stdio: 'inherit' }).status ?? 1;
} else {
  console.error(
    `Wherry needs Node.js 24, this is ${process.version}: install it, or run \`npm ci\` on Linux x64 or arm64.`,
  );
  process.exitCode = 1;
}
