import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './run-command.ts';

interface Manifest {
  name: string;
  exports?: Record<string, string>;
}

const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] };
const exclude = (name: string): boolean => path.basename(name) === 'node_modules';
const files = globSync(`{${workspaces.join(',')}}/**/*.{ts,tsx,js,mjs}`, { cwd: root, exclude });

/** What the files of other parts import of a part, as its package.json would list it: `./ports/clock.ts`. */
function importedOf(part: string, name: string): string[] {
  const specifier = new RegExp(`(?:from |import |\\(\\s*)'${name}/([^']+)'`, 'g');
  const others = files.filter((file) => !file.startsWith(`${part}/`));
  const found = others.flatMap((file) => [...read(file).matchAll(specifier)].map(([, inside = '']) => `./${inside}`));
  return [...new Set(found)].sort();
}

const doors = workspaces.flatMap((part) => {
  const { name, exports } = JSON.parse(read(`${part}/package.json`)) as Manifest;
  return exports === undefined ? [] : [{ part, name, exports }];
});

it.each(doors)(
  '$part/package.json exports by name what other parts import, and nothing else',
  ({ part, name, exports }) => {
    const imported = importedOf(part, name).map((door) => [door, door.replace('./', './src/')]);
    expect(exports).toEqual(Object.fromEntries(imported));
  },
);
