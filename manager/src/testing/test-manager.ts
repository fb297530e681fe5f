import { createServer, request, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { FakeReferencedSecrets } from '@wherry/testing/fakes/fake-referenced-secrets.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import { testDigestKey } from '@wherry/testing/test-key-ring.ts';
import { keyRingOver } from '@wherry/service/keys/ring-storage.ts';
import { MemoryRing } from '@wherry/service/testing/memory-ring.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { StoredAuditRecord } from '../audit/audit-record.ts';
import { buildManager, type ManagerOptions } from '../build-manager.ts';
import { ensureFirstStart } from '../first-start/ensure-first-start.ts';
import { openKeyLedger, type OwnedKeyLedger } from '../key-ledger/open-key-ledger.ts';
import type { MetricStore } from '../metric-store/metric-store.ts';
import { openMetricStore } from '../metric-store/open-metric-store.ts';
import { openTelemetryStore } from '../log-store/open-telemetry-store.ts';
import type { TelemetryStore } from '../log-store/telemetry-store.ts';
import type { UserStore } from '../users/user-store.ts';
import { InProcessAuditStore } from './in-process-audit-store.ts';
import { inProcessUserStore } from './in-process-user-store.ts';
import { sharedThreads } from './shared-threads.ts';

/** The management key of every test manager. */
export const KEY = 'test-management-key';

/** The setup token of every test manager. */
export const SETUP_TOKEN = 'test-setup-token';
/** The least that argon2id takes: what a password costs is a test of its own. */
export const CHEAP = { memoryKib: 8, passes: 1 };

/** A manager on fakes of the stores, a real telemetry database and a real socket. */
export interface TestManager {
  store: FakeResourceStore;
  ring: MemoryRing;
  keyRing: KeyRing;
  metrics: FakeMetrics;
  content: FakeContentStore;
  referencedSecrets: FakeReferencedSecrets;
  clock: FakeClock;
  logger: FakeLogger;
  telemetry: TelemetryStore;
  keyLedger: OwnedKeyLedger;
  executions: MetricStore;
  audit: InProcessAuditStore;
  users: UserStore;
  /** All records, oldest first. */
  audited(): Promise<StoredAuditRecord[]>;
  server: Server;
  stop(): Promise<void>;
}

function fakePorts() {
  const clock = new FakeClock();
  const ring = new MemoryRing(clock);
  return {
    clock,
    ring,
    keyRing: keyRingOver(ring),
    store: new FakeResourceStore({ clock }),
    content: new FakeContentStore({ clock }),
    logger: new FakeLogger(),
    metrics: new FakeMetrics(),
    referencedSecrets: new FakeReferencedSecrets(),
  };
}

export async function startTestManager(overrides: Partial<ManagerOptions> = {}): Promise<TestManager> {
  const fakes = fakePorts();
  const { clock, store, logger, keyRing } = fakes;
  const threads = await sharedThreads();
  const telemetry = await openTelemetryStore({
    file: ':memory:',
    maxBytes: 64 * 1024 * 1024,
    thread: threads.logs,
    clock,
    logger,
  });
  const keyLedger = await openKeyLedger({ store: telemetry, clock, logger });
  const executions = await openMetricStore({ file: ':memory:', thread: threads.records, clock, logger });
  const audit = new InProcessAuditStore();
  const users = overrides.users ?? inProcessUserStore();
  await ensureFirstStart({ store, audit, keyRing, clock, managementKey: KEY });
  const manager = buildManager({
    ...fakes,
    digestKey: testDigestKey(),
    telemetry,
    keyLedger,
    executions,
    functionUrl: 'http://functions.test:8000/',
    audit,
    users,
    setupToken: SETUP_TOKEN,
    passwordCost: CHEAP,
    ...overrides,
  });
  await manager.start();
  const server = createServer(manager.listener);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    ...fakes,
    telemetry,
    keyLedger,
    executions,
    audit,
    users,
    server,
    audited: async () => (await audit.query({ limit: 1_000_000 })).reverse(),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
      await manager.stop();
      await keyLedger.stop();
      await telemetry.close();
      await executions.close();
      await audit.close();
      if (overrides.users === undefined) await users.close();
    },
  };
}

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A request whose target goes out as it is written: clients tidy `..` and `%2F` away. */
export function rawRequest(
  { server }: TestManager,
  target: { method: string; path: string; headers?: Record<string, string>; key?: string | undefined },
  body: string | Uint8Array = '',
): Promise<RawAnswer> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const key = 'key' in target ? target.key : KEY;
    const headers = { ...(key === undefined ? {} : { 'x-api-key': key }), ...target.headers };
    const sent = request({ host: '127.0.0.1', port, method: target.method, path: target.path, headers }, (answer) => {
      if (answer.headers['content-type']?.startsWith('text/event-stream') === true) {
        // It has no end.
        answer.destroy();
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.alloc(0) });
        return;
      }
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
