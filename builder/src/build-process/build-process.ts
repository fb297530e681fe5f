import { Socket } from 'node:net';
import process from 'node:process';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { createAnswers } from '../bundling/answers.ts';
import { bundle } from '../bundling/bundle.ts';
import { preparePackages } from '../bundling/prepare-packages.ts';
import type { Preparation } from '../bundling/prepared-packages.ts';
import { sourceFiles } from '../bundling/source-files.ts';
import { warmUp } from '../bundling/warm-up.ts';
import { inheritedEsbuild } from './inherited-esbuild.ts';
import type { PackageLayout } from '../packages/package-registry.ts';
import type { Answer, BuildOrder, BuildReport, WarmUp } from './protocol.ts';

/** Manifests of many sources make a long line. */
const MAX_LINE_BYTES = 512 * 1024 * 1024;

/** The program of the process that builds: one order over file descriptor 3, one report, then the service ends it. */
async function main(esbuildFile: string, honoFolder: string): Promise<void> {
  const channel = jsonLines(new Socket({ fd: 3 }), { maxLineBytes: MAX_LINE_BYTES });
  void channel.closed.then(() => process.exit());
  const esbuild = inheritedEsbuild(esbuildFile);
  // A process that waits for its order has esbuild's own process warm.
  void esbuild.transform('').catch(() => undefined);
  const say = (message: BuildReport): void => channel.send(message);
  const blobs = createAnswers<Buffer>((digest) => say({ type: 'blob', digest }));
  const tarballs = new Tarballs((integrity) => say({ type: 'package', integrity }));
  const layouts = Promise.withResolvers<Record<string, PackageLayout>>();
  let prepared: Preparation | undefined;
  let ordered = false;
  for await (const message of channel.messages() as AsyncIterable<BuildOrder | Answer | WarmUp>) {
    if (message.type === 'blob') blobs.answer(message.digest, Buffer.from(message.base64, 'base64'));
    else if (message.type === 'package') tarballs.answer(message.integrity, Buffer.from(message.base64, 'base64'));
    else if (message.type === 'layouts') {
      tarballs.allow(message.layouts);
      layouts.resolve(message.layouts);
    } else if (message.type === 'warm') void getReady(message).catch(() => undefined);
    else void serve(message);
  }

  async function getReady(message: WarmUp): Promise<void> {
    // Packages of the author's warm it as well as something made up.
    if (message.packages === undefined) return warmUp({ esbuild, honoFolder }, () => !ordered);
    tarballs.give(message.packages.tarballs);
    const packages = {
      tarball: tarballs.get,
      layouts: () => Promise.reject(new Error('before an order nothing is requested')),
    };
    prepared = preparePackages(message.packages, { esbuild, honoFolder, packages });
  }

  async function serve(order: BuildOrder): Promise<void> {
    ordered = true;
    const files = sourceFiles(order.trees, (digest) => blobs.request(digest));
    const packages = {
      tarball: tarballs.get,
      layouts(sources: Extract<BuildReport, { type: 'packages' }>['sources']) {
        say({ type: 'packages', sources });
        return layouts.promise;
      },
    };
    try {
      const { inputs, ...result } = await bundle(order, files, {
        esbuild,
        honoFolder,
        packages,
        prepared,
        release: () => void esbuild.stop(),
      });
      say('artifact' in result ? { type: 'built', ...result, inputs } : { type: 'failed', ...result.failure, inputs });
    } catch (error) {
      process.stderr.write(`${String(error)}\n`);
      say({
        type: 'failed',
        reason: 'BuildFailed',
        message: 'The code could not be built: the bundler failed.',
        inputs: files.inputs(),
      });
    }
  }
}

/** Packages' tarballs, by integrity: those that came before an order, and those that are requested. */
class Tarballs {
  readonly #given = new Map<string, Buffer>();
  readonly #allowed = new Set<string>();
  readonly #answers: ReturnType<typeof createAnswers<Buffer>>;

  constructor(request: (integrity: string) => void) {
    this.#answers = createAnswers<Buffer>(request);
  }

  give(tarballs: Readonly<Record<string, string>>): void {
    for (const [integrity, base64] of Object.entries(tarballs))
      this.#given.set(integrity, Buffer.from(base64, 'base64'));
  }

  /** What an order's layouts name: a process that requests another tarball is ended. */
  allow(layouts: Record<string, PackageLayout>): void {
    for (const { packages } of Object.values(layouts)) {
      for (const { integrity } of Object.values(packages)) this.#allowed.add(integrity);
    }
  }

  answer(integrity: string, bytes: Buffer): void {
    this.#answers.answer(integrity, bytes);
  }

  readonly get = async (integrity: string): Promise<Buffer> => {
    const bytes = this.#given.get(integrity);
    // Packages of an earlier build may still be being made ready when the order comes.
    if (bytes === undefined && !this.#allowed.has(integrity))
      throw new Error('no layout of the order names this tarball');
    return bytes ?? this.#answers.request(integrity);
  };
}

const [esbuildFile = '', honoFolder = ''] = process.argv.slice(2);
void main(esbuildFile, honoFolder);
