import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TlsMaterial } from '../tls/tls-files.ts';

/** A certificate authority of a test. The certificates are real: made by openssl, on P-256. */
export class TestAuthority {
  readonly ca: string;
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'wherry-ca-'));
  #serial = 0;

  constructor(name = 'wherry test authority') {
    const extensions = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign'];
    this.#openssl([
      'req',
      '-x509',
      ...NEW_KEY,
      '-keyout',
      'ca.key',
      '-out',
      'ca.crt',
      '-days',
      '2',
      '-subj',
      `/CN=${name}`,
      ...extensions,
    ]);
    this.ca = this.#read('ca.crt');
  }

  /** @param names of a server; a client's certificate needs none. */
  issue(commonName: string, names: readonly string[] = []): TlsMaterial {
    const id = `c${++this.#serial}`;
    this.#openssl([
      'req',
      '-new',
      ...NEW_KEY,
      '-keyout',
      `${id}.key`,
      '-out',
      `${id}.csr`,
      '-subj',
      `/CN=${commonName}`,
    ]);
    const alternatives = names.map((name) => (/^[\d.]+$|:/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',');
    const usage = 'basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n';
    writeFileSync(
      path.join(this.#directory, `${id}.ext`),
      usage + (alternatives === '' ? '' : `subjectAltName=${alternatives}\n`),
    );
    const issuer = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-set_serial', String(this.#serial)];
    this.#openssl([
      'x509',
      '-req',
      '-in',
      `${id}.csr`,
      ...issuer,
      '-out',
      `${id}.crt`,
      '-days',
      '1',
      '-extfile',
      `${id}.ext`,
    ]);
    return { ca: this.ca, cert: this.#read(`${id}.crt`), key: this.#read(`${id}.key`) };
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #openssl(args: string[]): void {
    execFileSync('openssl', args, { cwd: this.#directory, stdio: ['ignore', 'ignore', 'pipe'] });
  }

  #read(name: string): string {
    return readFileSync(path.join(this.#directory, name), 'utf8');
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** Writes material as a mounted Secret has it. */
export function writeTlsFiles(directory: string, { ca, cert, key }: TlsMaterial): void {
  writeFileSync(path.join(directory, 'ca.crt'), ca);
  writeFileSync(path.join(directory, 'tls.crt'), cert);
  writeFileSync(path.join(directory, 'tls.key'), key);
}
