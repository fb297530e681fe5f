import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';

/** Whether every user of the machine may enter the folder and all above it. */
export function reachable(folder: string): boolean {
  for (let at = realpathSync(folder); ; at = path.dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}
