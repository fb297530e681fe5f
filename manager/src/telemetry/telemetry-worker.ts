/** The thread that owns `telemetry.db`. */
import { parentPort, workerData } from 'node:worker_threads';
import { openLogDatabase } from './open-log-database.ts';
import type { TelemetryReply, TelemetryRequest, TelemetryWorkerData } from './telemetry-messages.ts';

const { file, maxPerFunction } = workerData as TelemetryWorkerData;
const { database, setAside } = openLogDatabase(file, maxPerFunction);
const port = parentPort;
if (port === null) throw new Error('telemetry-worker.ts runs as a worker thread only');

function run(request: TelemetryRequest): Extract<TelemetryReply, { result: unknown }>['result'] {
  switch (request.operation) {
    case 'write':
      database.write(request.entries);
      return null;
    case 'query':
      return database.query(request.query);
    case 'knows':
      return database.knows(request.functionName);
    case 'trim':
      database.trim(request.maxPerFunction, request.oldest);
      return null;
    case 'close':
      database.close();
      return null;
  }
}

function answer(request: TelemetryRequest): TelemetryReply {
  try {
    return { id: request.id, result: run(request) };
  } catch (error) {
    return { id: request.id, error: error instanceof Error ? error.message : String(error) };
  }
}

port.on('message', (request: TelemetryRequest) => {
  port.postMessage(answer(request));
  // With its port closed nothing keeps the thread alive.
  if (request.operation === 'close') port.close();
});
port.postMessage({ ready: true, setAside } satisfies TelemetryReply);
