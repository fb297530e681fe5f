import { spawnSync } from 'node:child_process';
import path from 'node:path';

const MODULE = JSON.stringify(path.join(import.meta.dirname, 'require-node.ts'));

function start(version: string): { status: number | null; stdout: string; stderr: string } {
  const program = `import { requireNode24 } from ${MODULE}; requireNode24('wherry router', ${JSON.stringify(version)}); console.log('it runs');`;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
}

describe('requireNode24', () => {
  it('lets a program run on Node 24', () => {
    expect(start('24.21.0')).toMatchObject({ status: 0, stdout: 'it runs\n', stderr: '' });
  });

  it.each(['20.19.0', '25.0.0', '240.0.0'])('ends it on %s, with one line that says what to do', (version) => {
    const { status, stdout, stderr } = start(version);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^wherry router: Node\.js 24 is required, but this is [\d.]+\. Run .*\n$/);
    expect(stderr).toContain(version);
  });
});
