import { setTimeout as sleep } from 'node:timers/promises';
import type { Handler } from '../wherry.d.ts';

const INTERVAL_MS = 200;

const handler: Handler = (c, ctx) => {
  const from = Number(ctx.params['from']);
  if (!Number.isInteger(from) || from < 1 || from > 100) return c.json({ error: 'Count down from 1 to 100.' }, 400);
  const body = ReadableStream.from(countdown(from, ctx.signal)).pipeThrough(new TextEncoderStream());
  return new Response(body, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } });
};

/** Each event is sent as soon as it is yielded. */
async function* countdown(from: number, signal: AbortSignal): AsyncGenerator<string> {
  for (let left = from; left > 0; left -= 1) {
    yield `event: tick\ndata: ${left}\n\n`;
    await sleep(INTERVAL_MS);
    if (signal.aborted) return console.log(`The caller left at ${left}.`);
  }
  yield 'event: liftoff\ndata: 0\n\n';
}

export default handler;
