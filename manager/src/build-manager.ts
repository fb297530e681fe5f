import type { KeyObject } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { ObjectWrites } from '@wherry/core/ports/object-writes.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { createConfidentialReader, type ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import type { Kind, SettingsResource } from '@wherry/core/resources/kinds.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { settingValue, type SettingName } from '@wherry/core/settings-definitions.ts';
import { createInformer, type Informer } from '@wherry/service/informer.ts';
import type { RingStorage } from '@wherry/service/keys/ring-storage.ts';
import { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { createKeyAccess, type KeyAccess } from './authentication/key-access.ts';
import { authenticateBy, buildAccounts, type Accounts } from './accounts.ts';
import { docsRoutes } from './api-docs/docs-routes.ts';
import { Auditor } from './audit/auditor.ts';
import { auditRoutes } from './audit/audit-routes.ts';
import { AuditService } from './audit/audit-service.ts';
import type { AuditStore } from './audit/audit-store.ts';
import { AuditTrail } from './audit/audit-trail.ts';
import { KubernetesAudit } from './audit/kubernetes-audit.ts';
import { followWrites, type OwnWrites } from './audit/own-writes.ts';
import type { KnowsKey } from './audit/without-keys.ts';
import { buildEncryptionKeys, type EncryptionKeys, type Leadership } from './encryption-keys/build-encryption-keys.ts';
import { encryptionKeyRoutes } from './encryption-keys/encryption-key-routes.ts';
import { eventRoutes } from './events/event-routes.ts';
import { ResourceEvents } from './events/resource-events.ts';
import { FileService } from './files/file-service.ts';
import { fileRoutes } from './files/file-routes.ts';
import { SourceTrees } from './files/source-trees.ts';
import { AwaitOperator } from './functions/await-operator.ts';
import { functionRoutes } from './functions/function-routes.ts';
import { FunctionService } from './functions/function-service.ts';
import { buildListener } from './http/build-listener.ts';
import type { Route } from './http/endpoint.ts';
import { EventStreams } from './http/event-stream.ts';
import type { OwnedKeyLedger } from './key-ledger/open-key-ledger.ts';
import { notingUses } from './key-ledger/noting-uses.ts';
import { keyGroupRoutes } from './key-groups/key-group-routes.ts';
import { KeyGroupService } from './key-groups/key-group-service.ts';
import { keyRoutes } from './keys/key-routes.ts';
import { KeyService } from './keys/key-service.ts';
import { logRoutes } from './logs/log-routes.ts';
import { LogService } from './logs/log-service.ts';
import { LogStreams } from './logs/log-streams.ts';
import { metricRoutes } from './metrics/metric-routes.ts';
import { MetricService } from './metrics/metric-service.ts';
import type { MetricStore } from './metric-store/metric-store.ts';
import { openapiRoutes } from './openapi/openapi-routes.ts';
import type { OidcConfig } from './oidc/oidc-config.ts';
import { oidcRoutes } from './oidc/oidc-routes.ts';
import { boundedStore } from './object-access/bounded-store.ts';
import { WriteBarrier } from './object-access/write-barrier.ts';
import { ScopedSecrets } from './secrets/scoped-secrets.ts';
import { secretRoutes } from './secrets/secret-routes.ts';
import { SecretService } from './secrets/secret-service.ts';
import { settingRoutes } from './settings/setting-routes.ts';
import { SettingService } from './settings/setting-service.ts';
import { sourceRoutes } from './sources/source-routes.ts';
import { SourceService } from './sources/source-service.ts';
import type { PasswordCost } from './passwords/password-hasher.ts';
import { sessionRoutes } from './sessions/session-routes.ts';
import { ensureFirstUser, type FirstUser } from './first-start/ensure-first-user.ts';
import { userRoutes } from './users/user-routes.ts';
import type { UserStore } from './users/user-store.ts';
import type { TelemetryStore } from './log-store/telemetry-store.ts';

const DAY_MS = 86_400_000;

export interface ManagerOptions {
  store: ResourceStore;
  /** In a cluster, where others write the objects too; none on one machine. */
  objectWrites?: ObjectWrites;
  content: ContentStore;
  /** The keys of `ring`. */
  keyRing: KeyRing;
  ring: RingStorage;
  /** Which of several replicas rotates the keys; absent where there is only one. */
  leadership?: Leadership;
  /** Filled before the manager starts. */
  referencedSecrets: ReferencedSecrets;
  digestKey: KeyObject;
  telemetry: TelemetryStore;
  keyLedger: OwnedKeyLedger;
  executions: MetricStore;
  audit: AuditStore;
  users: UserStore;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  /** Base of the function port as callers reach it: `http://localhost:8000`. */
  functionUrl: string;
  /** It listens on a socket that only the router uses, which names the callers; false by default. */
  isBehindRouter?: boolean;
  /** Addresses and networks whose `X-Request-Id` and `X-Forwarded-For` are trusted; none by default. */
  trustedProxies?: readonly string[];
  /** How long the answer to a function's write waits until the operator has processed it; by default not at all. */
  awaitOperatorMs?: number;
  /**
   * How long a single call of the store may take before its request is answered with 503; by default without a limit.
   */
  storeLimitMs?: number;
  /** With it the first user can be created on the setup page; without it the page does not exist. */
  setupToken?: string | undefined;
  /** Created when the manager starts and there is no user. */
  firstUser?: FirstUser | undefined;
  /** What hashing a password costs; by default what is recommended. */
  passwordCost?: PasswordCost;
  /** Session cookies are not `Secure`, and are accepted over plain HTTP from anywhere; false by default. */
  allowPlainCookies?: boolean;
  /** Sign-in with an OpenID Connect provider; without it the paths are 404. */
  oidc?: OidcConfig | undefined;
}

export interface Manager {
  /** Answers `/api/*`; anything else is 404. */
  listener: RequestListener;
  /** Resolves once authentication knows all keys; before, every key is refused. */
  start(): Promise<void>;
  /** Ends event streams, which would not end by themselves, and refuses others: call it before requests drain. */
  endStreams(): void;
  stop(): Promise<void>;
}

/** The management API over its ports. The caller listens, and owns the stores. */
export function buildManager(options: ManagerOptions): Manager {
  const { clock, logger } = options;
  const informers = createInformers(options);
  const { ApiKey: keys, KeyGroup: groups, Settings: settings, Function: functions } = informers;
  const { followed, bounded, store } = wrapStore(options);
  const reader = createConfidentialReader(options.keyRing, options.referencedSecrets);
  const access = createKeyAccess({ ...options, reader, keys, groups, settings });
  const barrier = new WriteBarrier({ ApiKey: keys, KeyGroup: groups, Settings: settings }, clock);
  const lock = new KeyedLock();
  const operator = new AwaitOperator({ functions, clock, limitMs: options.awaitOperatorMs ?? 0 });
  const trail = new AuditTrail({ store: options.audit, clock, logger });
  const accounts = buildAccounts(options, lock);
  const knowsKey = (text: string): boolean => access.holderOf(text) !== undefined;
  const others = kubernetesAudit(options, followed.own, settings, knowsKey);

  const streams = new EventStreams(clock);
  const events = new ResourceEvents({ ...options, informers, functionUrl: functionUrl(options) });
  const rotation = buildEncryptionKeys({ ...options, store: followed.store, boundedStore: store, settings, trail });
  const setting = (name: SettingName): string => settingValue(settings.get(SETTINGS_NAME)?.spec.values, name);
  const parts = { store, reader, access, barrier, lock, operator, setting, accounts, events, rotation };

  const listener = buildListener({
    ...listenerDefaults(options),
    routes: apiRoutes(options, parts),
    authenticate: authenticateBy(notingUses(access.authenticate, options), accounts.sessions),
    claimantOf: access.claimantOf,
    auditor: new Auditor(trail, clock, knowsKey),
    streams,
  });

  const stopHousekeeping = keepHouse({ settings, keys }, options);

  return {
    listener,
    async start() {
      await ensureFirstUser({ ...options, users: accounts.users, user: options.firstUser });
      await Promise.all(Object.values(informers).map((informer) => informer.start()));
      options.keyLedger.forget(options.keyLedger.keys().filter((name) => keys.get(name) === undefined));
      retain(settings.get(SETTINGS_NAME), options);
      events.start();
      others?.start();
      rotation.start();
    },
    endStreams: () => streams.drain(),
    async stop() {
      await rotation.stop();
      bounded?.stop();
      stopHousekeeping();
      access.stop();
      events.stop();
      await others?.stop();
      await trail.stop();
      await Promise.all(Object.values(informers).map((informer) => informer.stop()));
    },
  };
}

/** Requests are answered in time; background work has no time limit. */
function wrapStore({ store, storeLimitMs, clock }: ManagerOptions) {
  const followed = followWrites(store);
  const bounded = storeLimitMs === undefined ? undefined : boundedStore(followed.store, clock, storeLimitMs);
  return { followed, bounded, store: bounded ?? followed.store };
}

/** Follows the settings of retention, and forgets the uses of keys that are gone. Returns how to stop. */
function keepHouse(
  { settings, keys }: { settings: Informer<'Settings'>; keys: Informer<'ApiKey'> },
  options: ManagerOptions,
): () => void {
  const stops = [
    settings.onChange((name, object) => {
      if (name === SETTINGS_NAME) retain(object, options);
    }),
    keys.onChange((name, key) => {
      if (key === undefined) options.keyLedger.forget([name]);
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

function listenerDefaults({ clock, logger, metrics, ...given }: ManagerOptions) {
  const { trustedProxies = [], isBehindRouter = false, allowPlainCookies = false } = given;
  return { clock, logger, metrics, trustedProxies, isBehindRouter, allowPlainCookies };
}

/** Caches of all objects, not started. */
function createInformers({ store, clock, logger }: ManagerOptions): { [K in Kind]: Informer<K> } {
  const watched = { store, clock, logger };
  return {
    Function: createInformer({ ...watched, kind: 'Function' }),
    CodeSource: createInformer({ ...watched, kind: 'CodeSource' }),
    KeyGroup: createInformer({ ...watched, kind: 'KeyGroup' }),
    ApiKey: createInformer({ ...watched, kind: 'ApiKey' }),
    FunctionSecret: createInformer({ ...watched, kind: 'FunctionSecret' }),
    Settings: createInformer({ ...watched, kind: 'Settings' }),
  };
}

function functionUrl(options: ManagerOptions): string {
  return options.functionUrl.replace(/\/+$/, '');
}

/** Undefined where nobody else writes the objects. */
function kubernetesAudit(
  { objectWrites, audit, clock, logger }: ManagerOptions,
  own: OwnWrites,
  settings: Informer<'Settings'>,
  knowsKey: KnowsKey,
): KubernetesAudit | undefined {
  if (objectWrites === undefined) return undefined;
  const retentionMs = (): number => auditDays(settings.get(SETTINGS_NAME)) * DAY_MS;
  return new KubernetesAudit({ writes: objectWrites, own, store: audit, retentionMs, knowsKey, clock, logger });
}

interface RouteParts {
  /** With the time limit of requests. */
  store: ResourceStore;
  reader: ConfidentialReader;
  access: KeyAccess;
  barrier: WriteBarrier;
  lock: KeyedLock;
  operator: AwaitOperator;
  /** The value of a setting, as it is now. */
  setting: (name: SettingName) => string;
  accounts: Accounts;
  events: ResourceEvents;
  rotation: EncryptionKeys;
}

/** All endpoints with what answers them. */
function apiRoutes(options: ManagerOptions, parts: RouteParts): Route[] {
  const { store, reader, access, barrier, lock, operator, setting, accounts, rotation } = parts;
  const { content, keyRing, clock, telemetry, keyLedger, executions } = options;
  const sources = new SourceService({ store, clock });
  const trees = new SourceTrees({ store, content, clock, lock });
  const scopedSecrets = new ScopedSecrets({ store, clock });
  const owned = { store, clock, lock, scopedSecrets };
  const keyGroups = new KeyGroupService(owned);
  const retentionDays = (): number => Number(setting('metrics.retention-days'));

  return [
    functionRoutes(new FunctionService({ ...owned, operator }), functionUrl(options)),
    sourceRoutes(sources),
    fileRoutes(new FileService({ store, content, sources, trees })),
    keyGroupRoutes(keyGroups, barrier),
    keyRoutes({
      keys: new KeyService({ ...owned, keyRing, reader, access, barrier }),
      groups: keyGroups,
      reader,
      keyLedger,
      clock,
    }),
    secretRoutes(new SecretService({ store, keyRing, clock, lock }), reader),
    userRoutes({ users: accounts.users, setupToken: options.setupToken }),
    sessionRoutes(accounts),
    oidcRoutes({ ...accounts, config: options.oidc, clock, logger: options.logger }),
    auditRoutes(new AuditService(options.audit)),
    logRoutes(new LogService({ store, telemetry }), new LogStreams({ telemetry, clock, logger: options.logger })),
    eventRoutes(parts.events),
    metricRoutes(new MetricService({ store, metrics: executions, clock, retentionDays })),
    settingRoutes(new SettingService({ store, clock, lock, barrier, users: options.users })),
    encryptionKeyRoutes(rotation.service),
    openapiRoutes(() => setting('server.name')),
    docsRoutes(),
  ].flat();
}

function retain(
  settings: SettingsResource | undefined,
  { telemetry, executions, audit }: Pick<ManagerOptions, 'telemetry' | 'executions' | 'audit'>,
): void {
  telemetry.retain(retentionOf(settings));
  executions.retain(metricsDays(settings));
  audit.retain(auditDays(settings));
}

function auditDays(settings: SettingsResource | undefined): number {
  return Number(settingValue(settings?.spec.values, 'audit.retention-days'));
}

function metricsDays(settings: SettingsResource | undefined): number {
  return Number(settingValue(settings?.spec.values, 'metrics.retention-days'));
}

function retentionOf(settings: SettingsResource | undefined): Parameters<TelemetryStore['retain']>[0] {
  const value = (name: SettingName): number => Number(settingValue(settings?.spec.values, name));
  return {
    maxPerFunction: value('log.trimming.max-per-function'),
    retentionSeconds: value('log.trimming.retention-seconds'),
    intervalSeconds: value('log.trimming.interval-seconds'),
  };
}
