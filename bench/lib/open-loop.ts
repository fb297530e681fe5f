import { Agent, request } from 'node:http';

interface OpenLoop {
  url: string;
  perSecond: number;
  seconds: number;
}

interface OpenLoopReport {
  /**
   * Of each good call, from when it was sent to the end of its answer: a late timer of this process is not the server's
   * fault.
   */
  milliseconds: number[];
  /** Of each other call. */
  failures: string[];
}

/** Calls at a steady rate, however late the answers come; resolves when the last one is there. */
export async function openLoop({ url, perSecond, seconds }: OpenLoop): Promise<OpenLoopReport> {
  const agent = new Agent({ keepAlive: true });
  const report: OpenLoopReport = { milliseconds: [], failures: [] };
  const began = performance.now();
  const calls: Promise<void>[] = [];
  for (let turn = 0; turn < perSecond * seconds; turn++) {
    const early = began + (turn * 1000) / perSecond - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    const sent = performance.now();
    calls.push(
      statusOf(url, agent).then(
        (status) =>
          void (status === 200
            ? report.milliseconds.push(performance.now() - sent)
            : report.failures.push(`status ${status}`)),
        (error: unknown) => void report.failures.push(String(error)),
      ),
    );
  }
  await Promise.all(calls);
  agent.destroy();
  return report;
}

function statusOf(url: string, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent }, (answer) => {
      answer
        .resume()
        .on('error', reject)
        .on('end', () => resolve(answer.statusCode));
    });
    call.on('error', reject).end();
  });
}
