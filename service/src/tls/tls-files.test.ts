import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { TestAuthority, writeTlsFiles } from '../testing/test-certificates.ts';
import { watchTlsFiles, type TlsFiles, type TlsMaterial } from './tls-files.ts';

describe('watchTlsFiles', () => {
  const authority = new TestAuthority();
  const [first, second] = [authority.issue('a'), authority.issue('b')] as const;
  let directory: string;
  let clock: FakeClock;
  let logger: FakeLogger;
  let files: TlsFiles | undefined;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'wherry-tls-'));
    clock = new FakeClock();
    logger = new FakeLogger();
  });
  afterEach(() => {
    files?.stop();
    files = undefined;
    rmSync(directory, { recursive: true });
  });
  afterAll(() => authority.remove());

  const watch = async (): Promise<TlsFiles> => (files = await watchTlsFiles({ directory, clock, logger }));
  const look = (): Promise<void> => clock.advance(5000);

  it('reads what is there, and what comes after it', async () => {
    writeTlsFiles(directory, first);
    const { current, onChange } = await watch();
    expect(current()).toEqual(first);
    const received: TlsMaterial[] = [];
    onChange((material) => received.push(material));
    writeTlsFiles(directory, second);
    await look();
    expect([received, current()]).toEqual([[second], second]);
  });

  it.each<[string, (directory: string) => void]>([
    ["another certificate's key", (folder) => writeFileSync(path.join(folder, 'tls.key'), second.key)],
    ['half a certificate', (folder) => writeFileSync(path.join(folder, 'tls.crt'), first.cert.slice(0, 200))],
    ['an empty authority', (folder) => writeFileSync(path.join(folder, 'ca.crt'), '')],
    ['no key', (folder) => rmSync(path.join(folder, 'tls.key'))],
  ])('keeps the last whole state over one with %s, and says so once', async (_name, spoil) => {
    writeTlsFiles(directory, first);
    const { current } = await watch();
    spoil(directory);
    await look();
    await look();
    expect(current()).toEqual(first);
    expect(logger.of('warn')).toHaveLength(1);
    writeTlsFiles(directory, second);
    await look();
    expect(current()).toEqual(second);
    expect(JSON.stringify(logger.of('warn'))).not.toContain('PRIVATE KEY');
  });

  it('refuses to start on a folder without them, and names it', async () => {
    await expect(watch()).rejects.toThrow(
      `WHERRY_TLS_DIRECTORY: ${directory} must contain tls.crt, tls.key and ca.crt (ENOENT`,
    );
    writeTlsFiles(directory, { ...first, key: second.key });
    await expect(watch()).rejects.toThrow('must contain');
  });
});
