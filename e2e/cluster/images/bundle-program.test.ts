import { readFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../../tooling/run-command.ts';
import { bundleProgram } from './bundle-program.ts';
import { programImages } from './image-table.ts';

it.each(programImages)('the program $name can be bundled', async (image) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'wherry-bundle-'));
  try {
    await bundleProgram(image, folder);
    expect((await stat(path.join(folder, 'main.js'))).isFile()).toBe(true);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it('S3: a folder that only root may enter holds the file where function pods mount their termination log', async () => {
  const golden = readFileSync(path.join(root, 'kube/src/workloads/golden/one-instance.yaml'), 'utf8');
  const mounted = /terminationMessagePath: \/app\/(\S+)/.exec(golden)?.[1] ?? 'none';
  const folder = await mkdtemp(path.join(tmpdir(), 'wherry-bundle-'));
  try {
    const runtime = programImages.find(({ name }) => name === 'runtime');
    await bundleProgram(runtime!, folder);
    const file = path.join(folder, mounted);
    expect((await stat(file)).isFile()).toBe(true);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
