import type { KeyObject } from 'node:crypto';
import { createFolderContentStore } from '@wherry/content/folder-content-store.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { openAuditStore } from '@wherry/manager/audit/open-audit-store.ts';
import type { AuditStore } from '@wherry/manager/audit/audit-store.ts';
import { openKeyLedger, type OwnedKeyLedger } from '@wherry/manager/key-ledger/open-key-ledger.ts';
import type { MetricStore } from '@wherry/manager/metric-store/metric-store.ts';
import { openMetricStore } from '@wherry/manager/metric-store/open-metric-store.ts';
import { openTelemetryStore } from '@wherry/manager/log-store/open-telemetry-store.ts';
import type { TelemetryStore } from '@wherry/manager/log-store/telemetry-store.ts';
import { startRecordsThread } from '@wherry/manager/records/records-thread.ts';
import { openUserStore } from '@wherry/manager/users/open-user-store.ts';
import type { UserStore } from '@wherry/manager/users/user-store.ts';
import { refuseForeignKeys } from '@wherry/service/keys/refuse-foreign-keys.ts';
import { keyRingOver, type RingStorage } from '@wherry/service/keys/ring-storage.ts';
import { loadKeyFile } from './data-directory/key-file.ts';
import type { DataDirectory } from './data-directory/open-data-directory.ts';
import { openSqliteStore } from './store/open-sqlite-store.ts';

/** Embedded objects lie in one namespace, as those of a cluster do in the functions' namespace. */
const NAMESPACE = 'default';

/** The opened content of the data directory. */
export interface Stores {
  store: ResourceStore;
  content: ContentStore;
  telemetry: TelemetryStore;
  keyLedger: OwnedKeyLedger;
  executions: MetricStore;
  audit: AuditStore;
  users: UserStore;
  keyRing: KeyRing;
  ring: RingStorage;
  digestKey: KeyObject;
}

type OpenStoresOptions = Pick<DataDirectory, 'paths' | 'isNew'> & {
  telemetryBytes: number;
  clock: Clock;
  logger: Logger;
  metrics: Promise<Metrics>;
};

/**
 * Opens everything in the data directory.
 * @throws StartError for a key file, audit records or users that cannot be used, and for a key file of other data.
 */
export async function openStores(
  { paths, isNew, telemetryBytes, clock, logger, metrics }: OpenStoresOptions,
  parts: AsyncDisposableStack,
): Promise<Stores> {
  // They are opened in threads, which start while the others are opened.
  const telemetry = openTelemetryStore({ file: paths.telemetry, maxBytes: telemetryBytes, clock, logger, metrics });
  const thread = startRecordsThread();
  const executions = openMetricStore({ file: paths.metrics, thread, clock, logger });
  const audit = openAuditStore({ file: paths.audit, thread, clock, logger });
  const users = openUserStore({ file: paths.users, thread, logger });
  for (const opening of [telemetry, executions, audit, users]) {
    opening.catch(() => undefined);
    parts.defer(() =>
      opening.then(
        (opened) => opened.close(),
        () => undefined,
      ),
    );
  }
  const { ring, digestKey, place } = loadKeyFile(paths.keys, { create: isNew, clock, logger });
  const store = await openSqliteStore({ file: paths.database, namespace: NAMESPACE, clock });
  parts.defer(() => store.close());
  const keyRing = keyRingOver(ring);
  await refuseForeignKeys(store, keyRing, place);
  const content = await createFolderContentStore({ directory: paths.content, clock, logger });
  const keyLedger = await openKeyLedger({ store: await telemetry, clock, logger });
  parts.defer(() => keyLedger.stop());
  return {
    store,
    content,
    telemetry: await telemetry,
    executions: await executions,
    keyLedger,
    audit: await audit,
    users: await users,
    keyRing,
    ring,
    digestKey,
  };
}
