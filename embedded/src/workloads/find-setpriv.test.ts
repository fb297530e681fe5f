import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { findSetpriv } from './find-setpriv.ts';

describe('findSetpriv', () => {
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(path.join(os.tmpdir(), 'wherry-test-'))));
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('passes over what is not there and what does not know the options', async () => {
    const lesser = path.join(folder, 'setpriv');
    await writeFile(lesser, '#!/bin/sh\ntest "$1" != --pdeathsig\n', { mode: 0o755 });
    const full = path.join(folder, 'setpriv-full');
    await writeFile(full, '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    expect(findSetpriv([path.join(folder, 'none'), lesser])).toBeUndefined();
    expect(findSetpriv([path.join(folder, 'none'), lesser, full])).toBe(full);
  });

  // Everything that Debian and its kin call a system has it.
  (existsSync('/usr/bin/setpriv') ? it : it.skip)("takes util-linux's where it is", () => {
    expect(findSetpriv()).toBe('/usr/bin/setpriv');
  });
});
