/**
 * How long an edit takes until the function answers it: without packages, and with hono, zod and dayjs, whose packages
 * are in the cache. One line of the handler is changed and uploaded; the function is called until the answer is new.
 * Run: npm run bench -- edit-to-answer [edits of each, 30 when omitted]
 */
import { availableParallelism, loadavg } from 'node:os';
import { ApiClient, send } from '@wherry/e2e/testing/api-client.ts';
import { startService, type Service } from '@wherry/e2e/testing/embedded-service.ts';
import { median, quantile, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';

const EDITS = Number(process.argv[2] ?? 30);
/** These edits find no spare builder and no compiled code, which later edits do not. */
const FIRST = 2;
/** People do not edit faster, and until then used spares are replaced. */
const BETWEEN_EDITS_MS = 500;
/**
 * Calls without a pause would take one of two cores from what is measured. The answer is seen this much late at most.
 */
const BETWEEN_CALLS_MS = 5;
const READY_DEADLINE_MS = 120_000;

interface Variant {
  name: string;
  /** Also the source's name and the route. */
  slug: string;
  goalMs: number;
  handler: (answer: string) => string;
}

const VARIANTS: Variant[] = [
  {
    name: 'without packages',
    slug: 'bare',
    goalMs: 150,
    handler: (answer) => `export default (c) => c.text('${answer}');\n`,
  },
  {
    name: 'with hono, zod and dayjs',
    slug: 'packages',
    goalMs: 400,
    handler: (answer) => `
import dayjs from 'npm:dayjs@1.11.23';
import { Hono } from 'npm:hono@4.13.19';
import { z } from 'npm:zod@4.6.7';

const query = z.object({ at: z.string().default('2025-01-01') });
const app = new Hono();
app.get('*', (c) => c.text('${answer}', 200, { 'x-week': dayjs(query.parse(c.req.query()).at).add(7, 'day').format('YYYY-MM-DD') }));

export default app;
`,
  },
];

interface Measured {
  times: number[];
  /** Calls that were not answered with 200, by the old code or the new. */
  failed: number;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function makeFunction({ slug, handler }: Variant, api: ApiClient): Promise<string> {
  const sourceId = await api.source(slug, { 'handler.ts': handler('first') });
  const id = await api.function({ name: slug, handler: `${slug}/handler.ts`, route: `/${slug}` });
  await api.functionWhen(id, ({ status }) => status.ready === true, READY_DEADLINE_MS);
  return sourceId;
}

/** @returns milliseconds from the upload's start to the end of the first new answer. */
async function edit(
  { slug, handler }: Variant,
  answer: string,
  made: { service: Service; api: ApiClient; sourceId: string },
): Promise<{ ms: number; failed: number }> {
  const url = `${made.service.functionUrl}/run/${slug}`;
  let failed = 0;
  const since = performance.now();
  await made.api.upload(made.sourceId, 'handler.ts', handler(answer));
  for (let seen = await send(url); seen.text !== answer; seen = await send(url)) {
    failed += seen.status === 200 ? 0 : 1;
    await pause(BETWEEN_CALLS_MS);
  }
  return { ms: performance.now() - since, failed };
}

async function measure(variants: readonly Variant[]): Promise<Map<Variant, Measured>> {
  const service = await startService();
  try {
    const api = new ApiClient(service.managementUrl, service.managementKey ?? '');
    const sources = new Map<Variant, string>();
    for (const variant of variants) sources.set(variant, await makeFunction(variant, api));
    const measured = new Map<Variant, Measured>(variants.map((variant) => [variant, { times: [], failed: 0 }]));
    for (let round = -FIRST; round < EDITS; round++) {
      for (const [variant, sum] of measured) {
        await pause(BETWEEN_EDITS_MS);
        const { ms, failed } = await edit(variant, `edit ${round}`, {
          service,
          api,
          sourceId: sources.get(variant) ?? '',
        });
        sum.failed += failed;
        if (round >= 0) sum.times.push(ms);
      }
    }
    return measured;
  } finally {
    await service.dispose();
  }
}

const row = ([{ name, goalMs }, { times, failed }]: [Variant, Measured]): string[] => [
  name,
  rounded(median(times)),
  rounded(quantile(times, 0.95)),
  rounded(Math.max(...times)),
  String(failed),
  `p50 <= ${goalMs}`,
];

console.log(
  `Node ${process.versions.node}, ${availableParallelism()} cores, load ${rounded(loadavg()[0] ?? 0, 1)}, ${EDITS} edits of each, interleaved\n`,
);
console.log(
  table([
    ['Edit → new answer, ms', 'p50', 'p95', 'max', 'failed calls', 'goal'],
    ...[...(await measure(VARIANTS))].map(row),
  ]),
);
