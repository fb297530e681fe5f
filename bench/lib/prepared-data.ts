import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ApiClient } from '@wherry/e2e/testing/api-client.ts';
import { serviceEnvironment, startService } from '@wherry/e2e/testing/embedded-service.ts';
import { freePort } from './npm-start.ts';

/** A data directory with functions that were built and served by an earlier run. */
export interface PreparedData {
  dataDirectory: string;
  /** For `npm start`: the data directory, and ports that stay the same. */
  environment: Record<string, string>;
  /** Of each function. The answer is the text of `answer`, a space, and its process's id. */
  urls: string[];
  api: ApiClient;
  sourceId: string;
}

/** The handler of function number `index`; its answer distinguishes an edit from the one before it. */
export const handler = (answer: string): string => `export default (c) => c.text(\`${answer} \${process.pid}\`);\n`;
export const handlerPath = (index: number): string => `hello-${index}.ts`;

/**
 * Creates so many public functions without packages through the API, waits until each serves, and stops the service.
 */
export async function prepareData(functions: number): Promise<PreparedData> {
  const dataDirectory = await mkdtemp(path.join(tmpdir(), 'wherry-bench-'));
  const [functionPort, managementPort] = [await freePort(), await freePort()];
  const ports = { FUNCTION_PORT: String(functionPort), MANAGEMENT_PORT: String(managementPort) };
  const environment = serviceEnvironment(dataDirectory, ports);
  const service = await startService({ dataDirectory, environment });
  const indexes = Array.from({ length: functions }, (_, index) => index);
  try {
    const api = new ApiClient(`http://127.0.0.1:${managementPort}`, service.managementKey ?? '');
    const sourceId = await api.source(
      'bench',
      Object.fromEntries(indexes.map((index) => [handlerPath(index), handler(`hello ${index}`)])),
    );
    for (const index of indexes) {
      await api.readyFunction({
        name: `Hello ${index}`,
        handler: `bench/${handlerPath(index)}`,
        route: `/hello-${index}`,
      });
    }
    const urls = indexes.map((index) => `http://127.0.0.1:${functionPort}/run/hello-${index}`);
    return { dataDirectory, environment, urls, api, sourceId };
  } finally {
    await service.stop();
  }
}
