import { Socket } from 'node:net';
import process from 'node:process';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { BlobRequests, MAX_LINE_BYTES } from '../blob-exchange/blob-requests.ts';
import { bundle } from './bundle.ts';
import { preparePackages } from './prepare-packages.ts';
import type { Preparation } from './bundler-tools.ts';
import { sourceFiles } from './source-files.ts';
import { warmUp } from './warm-up.ts';
import { inheritedEsbuild } from './inherited-esbuild.ts';
import type { PackageLayout } from '../packages/package-registry.ts';
import type { Answer, BuildOrder, BuildReport, WarmUp } from '../build-process/protocol.ts';

/**
 * The program of the build process: it gets one order over file descriptor 3 and sends one report; then the service
 * ends it.
 */
async function main(esbuildFile: string, honoFolder: string): Promise<void> {
  const channel = jsonLines(new Socket({ fd: 3 }), { maxLineBytes: MAX_LINE_BYTES });
  void channel.closed.then(() => process.exit());
  const esbuild = inheritedEsbuild(esbuildFile);
  // A process that waits for its order has esbuild's own process warm.
  void esbuild.transform('').catch(() => undefined);
  const say = (message: BuildReport): void => channel.send(message);
  const blobs = new BlobRequests(say);
  /** By integrity: tarballs that were sent before an order. */
  const given = new Map<string, Buffer>();
  const tarball = async (integrity: string): Promise<Buffer> => given.get(integrity) ?? blobs.request(integrity);
  const layouts = Promise.withResolvers<Record<string, PackageLayout>>();
  let prepared: Preparation | undefined;
  let ordered = false;
  for await (const message of channel.messages() as AsyncIterable<BuildOrder | Answer | WarmUp>) {
    if (message.type === 'blob' || message.type === 'noBlob') blobs.answer(message);
    else if (message.type === 'layouts') {
      blobs.allow(integritiesOf(message.layouts));
      layouts.resolve(message.layouts);
    } else if (message.type === 'warm') void getReady(message).catch(() => undefined);
    else void serve(message);
  }

  async function getReady(message: WarmUp): Promise<void> {
    // The author's packages warm it up as well as made-up code would.
    if (message.packages === undefined) return warmUp({ esbuild, honoFolder }, () => !ordered);
    for (const [integrity, base64] of Object.entries(message.packages.tarballs))
      given.set(integrity, Buffer.from(base64, 'base64'));
    const packages = {
      tarball,
      layouts: () => Promise.reject(new Error('layouts were requested before the build was ordered')),
    };
    prepared = preparePackages(message.packages, { esbuild, honoFolder, packages });
  }

  async function serve(order: BuildOrder): Promise<void> {
    ordered = true;
    blobs.allow(digestsOf(order));
    const files = sourceFiles(order.trees, (digest) => blobs.request(digest));
    const packages = {
      tarball,
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
      const message = 'The code could not be built: the bundler failed.';
      say({ type: 'failed', reason: 'BuildFailed', message, inputs: files.inputs() });
    }
  }
}

function* digestsOf({ trees }: BuildOrder): Iterable<string> {
  for (const files of Object.values(trees)) for (const [digest] of Object.values(files)) yield digest;
}

function* integritiesOf(layouts: Record<string, PackageLayout>): Iterable<string> {
  for (const { packages } of Object.values(layouts))
    for (const { integrity } of Object.values(packages)) yield integrity;
}

const [esbuildFile = '', honoFolder = ''] = process.argv.slice(2);
void main(esbuildFile, honoFolder);
