import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { openRunDirectory } from './run-directory.ts';

describe('openRunDirectory', () => {
  let root: string;
  let open: string;
  let closed: string;
  beforeEach(async () => {
    root = await mkdtemp(path.join(os.tmpdir(), 'wherry-test-'));
    await chmod(root, 0o755);
    [open, closed] = [path.join(root, 'open'), path.join(root, 'closed')];
    for (const [folder, mode] of [
      [open, 0o755],
      [closed, 0o700],
    ] as const) {
      await mkdir(folder, { mode });
      await writeFile(path.join(folder, 'node'), 'a binary', { mode: 0o755 });
      await writeFile(path.join(folder, 'runtime.cjs'), 'a bundle', { mode: 0o644 });
      await writeFile(path.join(folder, 'private.cjs'), 'a bundle', { mode: 0o600 });
    }
  });
  afterEach(() => rm(root, { recursive: true, force: true }));
  const run = (
    files: { node: string; bundle: string },
    directory = path.join(root, 'run'),
  ): ReturnType<typeof openRunDirectory> => openRunDirectory(directory, { ...files, otherUsers: true });
  const filesIn = (folder: string): { node: string; bundle: string } => ({
    node: path.join(folder, 'node'),
    bundle: path.join(folder, 'runtime.cjs'),
  });

  it('uses the files where they are, when every user can reach them', () => {
    expect(run(filesIn(open))).toMatchObject(filesIn(open));
  });

  it('copies what other users could not reach or read', async () => {
    const { node, bundle } = run({ ...filesIn(closed), bundle: path.join(open, 'private.cjs') });
    expect([node, bundle]).toEqual([path.join(root, 'run/node'), path.join(root, 'run/runtime.cjs')]);
    expect([await readFile(node, 'utf8'), await readFile(bundle, 'utf8')]).toEqual(['a binary', 'a bundle']);
    expect(((await stat(node)).mode & 0o777).toString(8)).toBe('555');
  });

  it('leaves them alone where instances are the same user', () => {
    const same = openRunDirectory(path.join(root, 'run'), { ...filesIn(closed), otherUsers: false });
    expect(same).toMatchObject(filesIn(closed));
  });

  it('says so when other users cannot even enter the run directory', () => {
    expect(() => run(filesIn(open), path.join(closed, 'run'))).toThrow(
      'set TMPDIR to a folder that all users can enter',
    );
  });

  it("gives each instance a folder that is never another one's, with a private temporary one in it", async () => {
    const directory = run(filesIn(open));
    const [one, two] = [directory.createFolder(process.getuid?.()), directory.createFolder(undefined)];
    expect(one.id).not.toBe(two.id);
    for (const folder of [one.path, one.temporary, two.path]) expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(path.dirname(one.socket)).toBe(one.path);
    directory.record(one, process.pid);
    await directory.removeFolder(one);
    await expect(stat(one.path)).rejects.toThrow('ENOENT');
    await expect(stat(path.join(root, 'run/pids', one.id))).rejects.toThrow('ENOENT');
  });
});
