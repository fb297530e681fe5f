import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../../tooling/run-command.ts';
import { bundleProgram } from './bundle-program.ts';
import { programImages } from './image-table.ts';

/** What programs read, as far as it is worth naming: what their bundles name is looked for anyway. */
const READ_BY: Record<string, object> = {
  manager: {
    beside: expect.arrayContaining(['records-worker.js', 'api-docs.html', 'api-docs.css', 'api-docs.js']),
    inPackages: ['swagger-ui-dist/swagger-ui.css', 'swagger-ui-dist/swagger-ui-bundle.js'],
  },
};

it.each(programImages)('the program $name can be bundled, with the files that it reads', async (image) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'wherry-bundle-'));
  try {
    await bundleProgram(image, folder);
    const main = path.join(folder, 'main.js');
    const text = readFileSync(main, 'utf8');
    const require = createRequire(main);
    const beside = Array.from(text.matchAll(/new URL\("\.\/([^"]+)",\s*import\.meta\.url\)/g), ([, name = '']) => name);
    const inPackages = Array.from(text.matchAll(/import\.meta\.resolve\("([^"]+)"\)/g), ([, name = '']) => name);
    for (const file of [
      ...beside.map((name) => path.join(folder, name)),
      ...inPackages.map((name) => require.resolve(name)),
    ]) {
      expect(file.startsWith(`${folder}/`)).toBe(true);
      expect((await stat(file)).isFile()).toBe(true);
    }
    expect({ beside, inPackages }).toMatchObject(READ_BY[image.name] ?? {});
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
