import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { settingValue, type SettingName } from '@wherry/core/settings-definitions.ts';
import type { Informer } from '@wherry/service/informer.ts';
import type { RingStorage } from '@wherry/service/keys/ring-storage.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { EncryptionKeyService } from './encryption-key-service.ts';
import { RotationJob, type RotationSettings } from './rotation-job.ts';

/** Which of several replicas leads. */
export interface Leadership {
  isLeader(): boolean;
  /** Returns how to stop. */
  onChange(callback: (leads: boolean) => void): () => void;
}

interface EncryptionKeysOptions {
  store: ResourceStore;
  /** The same with the time limit of requests. */
  boundedStore: ResourceStore;
  ring: RingStorage;
  keyRing: KeyRing;
  settings: Informer<'Settings'>;
  /** Absent where there is only one replica. */
  leadership?: Leadership | undefined;
  trail: AuditTrail;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

export interface EncryptionKeys {
  service: EncryptionKeyService;
  /** Rotates from now on, whenever this replica leads. The keys and the settings are known. */
  start(): void;
  /** Requests that wait for a rotation end at once; what is stored is enough to go on later. */
  stop(): Promise<void>;
}

/** The rotation of the encryption keys, and the service of its endpoints. */
export function buildEncryptionKeys(options: EncryptionKeysOptions): EncryptionKeys {
  const { settings: informer, leadership, logger } = options;
  const settings = (): RotationSettings => settingsOf(informer);
  const job = new RotationJob({ ...options, settings });
  const stopping = new AbortController();
  const service = new EncryptionKeyService({
    ...options,
    store: options.boundedStore,
    job,
    settings,
    stopping: stopping.signal,
  });
  const unsubscribe = [informer.onChange(() => job.wake())];
  const follow = (leads: boolean): void => {
    if (leads) job.lead();
    else job.stopLeading().catch((err: unknown) => logger.error({ err }, 'the rotation could not be stopped'));
  };
  return {
    service,
    start() {
      if (stopping.signal.aborted) return;
      job.start();
      if (leadership !== undefined) unsubscribe.push(leadership.onChange(follow));
      follow(leadership?.isLeader() ?? true);
    },
    async stop() {
      stopping.abort();
      unsubscribe.forEach((stop) => stop());
      await job.stopLeading();
    },
  };
}

function settingsOf(informer: Informer<'Settings'>): RotationSettings {
  const values = informer.get(SETTINGS_NAME)?.spec.values;
  const value = (name: SettingName): number => Number(settingValue(values, name));
  return {
    intervalDays: value('encryption.key-rotation.interval-days'),
    checkIntervalSeconds: value('encryption.key-rotation.check-interval-seconds'),
    batchSize: value('encryption.key-rotation.batch-size'),
    batchSleepMs: value('encryption.key-rotation.batch-sleep-ms'),
  };
}
