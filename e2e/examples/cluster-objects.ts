import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { parseAllDocuments } from 'yaml';

const PROGRAM = path.join(import.meta.dirname, '../../embedded/src/testing/apply-objects.ts');
const LITERAL = /^--from-literal=([^=]+)=(.*)$/s;

/**
 * What the examples give `kubectl`, collected for a service on this machine, whose API has no operations for secrets.
 */
export class ClusterObjects {
  readonly #objects: unknown[] = [];
  readonly #secrets: Record<string, Record<string, string>> = {};

  /** @throws Error for a command that no example should have */
  kubectl(args: string[], folder: string): void {
    const [flag, namespace, ...rest] = args;
    const command = rest.join(' ');
    if (flag !== '-n' || namespace !== 'wherry-functions')
      throw new Error(`not in the functions' namespace: kubectl ${args.join(' ')}`);
    if (command.startsWith('create secret generic ')) this.#createSecret(rest[3] ?? '', rest.slice(4));
    else if (command.startsWith('apply -f ')) this.#apply(path.join(folder, rest[2] ?? ''));
    else throw new Error(`unknown: kubectl ${args.join(' ')}`);
  }

  /** Writes all of it into the data directory of a service that has not started. */
  async write(dataDirectory: string): Promise<void> {
    const child = execFile(process.execPath, [PROGRAM, dataDirectory], { cwd: tmpdir() });
    const { stdin, stderr } = child;
    if (stdin === null || stderr === null) throw new Error('the program has no standard streams');
    const said = text(stderr);
    stdin.end(JSON.stringify({ objects: this.#objects, secrets: this.#secrets }));
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`apply-objects ended with ${String(code)}: ${await said}`);
  }

  #createSecret(name: string, literals: string[]): void {
    const pairs = literals.map((literal) => LITERAL.exec(literal)?.slice(1) ?? []);
    this.#secrets[name] = Object.fromEntries(pairs) as Record<string, string>;
  }

  #apply(file: string): void {
    for (const document of parseAllDocuments(readFileSync(file, 'utf8'))) {
      const { kind, metadata, spec } = document.toJS() as Record<string, unknown>;
      this.#objects.push({ kind, metadata, spec });
    }
  }
}
