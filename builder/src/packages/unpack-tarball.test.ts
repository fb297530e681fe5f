import { gzipSync } from 'node:zlib';
import { create } from 'tar';
import { mkdtemp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeTar, makeTarball, type TarEntry } from './testing/make-tarball.ts';
import { unpackTarball } from './unpack-tarball.ts';

const unpack = async (...entries: TarEntry[]): Promise<Record<string, string>> =>
  Object.fromEntries(
    [...(await unpackTarball(gzipSync(makeTar(entries))))].map(([file, bytes]) => [
      file,
      Buffer.from(bytes).toString(),
    ]),
  );

describe('unpackTarball', () => {
  it('takes the first folder off, whatever it is called', async () => {
    expect(
      await unpack(
        { path: 'package/package.json', content: '{}' },
        { path: './other/lib/a.js', content: 'a' },
        { path: 'top.txt', content: 't' },
        { path: 'package/empty' },
      ),
    ).toEqual({
      'package.json': '{}',
      'lib/a.js': 'a',
      empty: '',
    });
  });

  it('reads what tar writes, long names and other alphabets included', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'wherry-tar-'));
    const long = `${'deep/'.repeat(60)}é-文件.js`;
    await mkdir(path.join(folder, 'package', path.dirname(long)), { recursive: true });
    await writeFile(path.join(folder, 'package', long), 'long');
    await writeFile(path.join(folder, 'package', 'big.bin'), Buffer.alloc(100_000, 'x'));
    await symlink('/etc/passwd', path.join(folder, 'package', 'link.txt'));
    await create({ cwd: folder, gzip: true, file: path.join(folder, 'out.tgz') }, ['package']);
    const files = await unpackTarball(await readFile(path.join(folder, 'out.tgz')));
    await rm(folder, { recursive: true });
    expect([...files.keys()].sort()).toEqual(['big.bin', long].sort());
    expect(files.get('big.bin')?.length).toBe(100_000);
    expect(Buffer.from(files.get(long)!).toString()).toBe('long');
  });

  it.each(['package/../../etc/passwd', '../x', 'package/a/../../b', '/etc/passwd', 'package/..'])(
    'B3: refuses an entry %s, by name',
    async (entry) => {
      await expect(unpack({ path: 'package/ok.js', content: '' }, { path: entry, content: 'x' })).rejects.toThrow(
        `its tarball has an entry outside the package: ${JSON.stringify(entry)}`,
      );
    },
  );

  it('B3: refuses such a name in an extra header too', async () => {
    const record = ' path=package/../../x\n';
    const pax = `${record.length + 2}${record}`;
    await expect(
      unpack({ path: 'PaxHeader/x', type: 'ExtendedHeader', content: pax }, { path: 'package/x', content: 'x' }),
    ).rejects.toThrow('outside the package');
    await expect(
      unpack(
        { path: '././@LongLink', type: 'NextFileHasLongPath', content: '../../x\0' },
        { path: 'package/x', content: 'x' },
      ),
    ).rejects.toThrow('outside the package');
  });

  it('B3: leaves links and devices out', async () => {
    const kinds = ['SymbolicLink', 'Link', 'CharacterDevice', 'BlockDevice', 'FIFO', 'Directory'] as const;
    const special = kinds.map((type): TarEntry => ({ path: `package/${type}`, type, linkpath: '/etc/passwd' }));
    expect(await unpack(...special, { path: 'package/SymbolicLink/inside.js', content: 'x' })).toEqual({
      'SymbolicLink/inside.js': 'x',
    });
  });

  it('keeps the last of entries of one name', async () => {
    expect(await unpack({ path: 'package/a', content: 'first' }, { path: 'package//./a', content: 'last' })).toEqual({
      a: 'last',
    });
  });

  it('stops a gzip bomb early', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    await expect(unpackTarball(bomb, { files: 10, bytes: 1024 * 1024 })).rejects.toMatchObject({
      message: 'its tarball unpacks to more than 1 MiB',
      isTooLarge: true,
    });
  });

  it('counts files', async () => {
    await expect(unpackTarball(makeTarball({ a: '', b: '', c: '' }), { files: 2, bytes: 1024 * 1024 })).rejects.toThrow(
      'its tarball has more than 2 files',
    );
  });

  it.each<[string, Uint8Array]>([
    ['that is cut', makeTarball({ a: 'x'.repeat(10_000) }).subarray(0, 80)],
    ['whose content is cut', gzipSync(makeTar([{ path: 'package/a', content: 'x'.repeat(1000) }]).subarray(0, 900))],
    ['that is something else', Buffer.from('not found'.repeat(100))],
    ['that is short', Buffer.from('no tarball')],
    ['that is empty', gzipSync(Buffer.alloc(1024))],
    [
      'with a header that is not its own',
      gzipSync(
        Buffer.concat([
          Buffer.from('package/a'),
          makeTar([{ path: 'package/a' }])
            .subarray(9)
            .fill('7', 100, 107),
        ]),
      ),
    ],
    [
      'with a size that has no end',
      gzipSync(
        makeTar([
          { path: 'x', type: 'ExtendedHeader', content: '14 size=1e999\n' },
          { path: 'package/a', content: 'x' },
        ]),
      ),
    ],
  ])('says that one is damaged %s', async (_name, bytes) => {
    await expect(unpackTarball(bytes)).rejects.toThrow('its tarball is damaged');
  });
});
