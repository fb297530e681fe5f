// Runs after `npm ci`. npm 10 removes node_modules/.bin/node again: it belongs to both pinned packages, and the one for
// the other processor is removed last. So this restores it, or npm scripts would run on the machine's own Node.
import { existsSync, symlinkSync } from 'node:fs';
import path from 'node:path';

const modules = path.resolve(import.meta.dirname, '../../node_modules');
const target = `../node-${process.platform}-${process.arch}/bin/node`;
const link = path.join(modules, '.bin/node');

if (!existsSync(link) && existsSync(path.join(modules, '.bin', target))) symlinkSync(target, link);
