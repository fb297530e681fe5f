import { rmSync } from 'node:fs';
import { Socket } from 'node:net';
import process from 'node:process';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { buildTree, type TreeTools } from './build-tree.ts';
import {
  InstallError,
  MAX_LINE_BYTES,
  type InstallOrder,
  type InstallReport,
  type ResolveOrder,
  type TarballOrder,
  sendTarball,
} from './protocol.ts';
import { createRegistryClient } from './registry-client.ts';

/**
 * The program of the process that talks to the registry, and alone holds its token. It receives orders over file
 * descriptor 3.
 */
async function main(): Promise<void> {
  const channel = jsonLines(new Socket({ fd: 3 }), { maxLineBytes: MAX_LINE_BYTES, maxBufferedBytes: MAX_LINE_BYTES });
  void channel.closed.then(() => end(tools?.folder));
  const running = new Map<number, AbortController>();
  let tools: TreeTools | undefined;

  for await (const order of channel.messages() as AsyncIterable<InstallOrder>) {
    if (order.type === 'configure') tools = { ...order, client: createRegistryClient(order.registry, order.limits) };
    else if (order.type === 'cancel')
      running.get(order.id)?.abort(new InstallError('InstallFailed', 'It was cancelled.', []));
    else if (tools !== undefined) void serve(order, tools);
  }

  async function serve(order: ResolveOrder | TarballOrder, tools: TreeTools): Promise<void> {
    const { id } = order;
    const controller = new AbortController();
    running.set(id, controller);
    try {
      if (order.type === 'resolve') {
        report(channel, { type: 'resolved', id, packages: await buildTree(order, tools, controller.signal) });
      } else {
        sendTarball(channel, id, await tools.client.tarball(order, controller.signal));
      }
    } catch (error) {
      const known =
        error instanceof InstallError
          ? error
          : new InstallError(
              'InstallFailed',
              'The packages could not be fetched: the install process failed.',
              [],
              error,
            );
      if (known.cause instanceof Error) process.stderr.write(`${known.cause.stack ?? known.cause.message}\n`);
      report(channel, { type: 'failed', id, ...known.failure });
    } finally {
      running.delete(id);
    }
  }
}

/** The service is gone, or needs it no longer: in the first case nothing else would remove the folder. */
function end(folder: string | undefined): void {
  try {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  } finally {
    process.exit();
  }
}

const report = (channel: FeedChannel, message: InstallReport): void => channel.send(message);

void main();
