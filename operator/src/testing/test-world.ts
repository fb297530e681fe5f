import { createSecretKey } from 'node:crypto';
import { FakeBuilder } from '@wherry/testing/fakes/fake-builder.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { FakeKeyLedger } from '@wherry/testing/fakes/fake-key-ledger.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import { FakeMetricsSink, FakeTelemetry } from '@wherry/testing/fakes/fake-telemetry.ts';
import { FakeWorkloads } from '@wherry/testing/fakes/fake-workloads.ts';
import { FakeReferencedSecrets } from '@wherry/testing/fakes/fake-referenced-secrets.ts';
import { testKeyRing } from '@wherry/testing/test-key-ring.ts';
import { sealConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { RuntimeFeed } from '@wherry/core/ports/runtime-feed.ts';
import type { StoreRestores } from '@wherry/core/ports/store-restores.ts';
import type { Workloads } from '@wherry/core/ports/workloads.ts';
import { findCondition, type ConditionType } from '@wherry/core/resources/conditions.ts';
import type { Condition } from '@wherry/core/resources/meta.ts';
import { functionSpecSchema, type FunctionSpec } from '@wherry/core/resources/function.ts';
import type { FunctionSecretSpec } from '@wherry/core/resources/function-secret.ts';
import type { FunctionResource, Kind, KindTypes, Resource } from '@wherry/core/resources/kinds.ts';
import { encodeTree, sha256 } from '@wherry/core/trees/tree.ts';
import { buildOperator, type Operator } from '../build-operator.ts';
import { createCaches } from '../informers/caches.ts';
import { createLogIntake } from '../feed/log-intake.ts';
import { CachedRuntimeFeed } from '../feed/runtime-feed.ts';
import { TestRouter } from './test-router.ts';

/** An operator that runs, with a router that listens to it. */
export interface RunningOperator {
  operator: Operator;
  router: TestRouter;
  runtimeFeed: RuntimeFeed;
  metrics: FakeMetrics;
}

export const DIGEST_SECRET = new Uint8Array(32).fill(7);

/** A store, a content store, workloads and a builder, all in memory; operators come and go over them. */
export class TestWorld {
  readonly clock = new FakeClock();
  readonly store = new FakeResourceStore({ clock: this.clock });
  readonly content = new FakeContentStore({ clock: this.clock });
  readonly workloads = new FakeWorkloads({ automatic: true });
  readonly builder = new FakeBuilder({ content: this.content });
  readonly telemetry = new FakeTelemetry();
  readonly keyLedger = new FakeKeyLedger();
  readonly executions = new FakeMetricsSink();
  readonly logger = new FakeLogger();
  readonly keyRing = testKeyRing();
  readonly referencedSecrets = new FakeReferencedSecrets();
  readonly feedKey = createSecretKey(new Uint8Array(32).fill(9));
  readonly #running: Operator[] = [];

  /** Starts an operator; it sees the world through these ports. */
  async start(
    seen: {
      store?: ResourceStore;
      content?: ContentStore;
      workloads?: Workloads;
      routersReturnMs?: number;
      restores?: StoreRestores;
    } = {},
  ): Promise<RunningOperator> {
    const { clock, logger, keyRing, referencedSecrets, feedKey } = this;
    const { store = this.store, content = this.content, workloads = this.workloads, routersReturnMs = 0 } = seen;
    const metrics = new FakeMetrics();
    const caches = createCaches({ store, clock, logger });
    const logs = createLogIntake({ telemetry: this.telemetry, metrics, clock });
    const runtimeFeed = new CachedRuntimeFeed({
      caches,
      content,
      keyRing,
      referencedSecrets,
      invocationKey: feedKey,
      logs,
      clock,
      logger,
    });
    const operator = buildOperator({
      store,
      caches,
      content,
      workloads,
      keyRing,
      referencedSecrets,
      invocationKey: feedKey,
      logs,
      keyLedger: this.keyLedger,
      executions: this.executions,
      clock,
      logger,
      metrics,
      builder: this.builder,
      digestKey: DIGEST_SECRET,
      functionUrl: 'http://localhost:8000',
      routersReturnMs,
      ...(seen.restores !== undefined && { restores: seen.restores }),
    });
    const router = new TestRouter();
    operator.attachRouter(router.channel);
    this.#running.push(operator);
    const started = operator.start().then(() => operator.lead());
    // Longer than the informers' first backoff.
    await this.run(300);
    await started;
    return { operator, router, runtimeFeed, metrics };
  }

  async stop(): Promise<void> {
    const stopped = Promise.all(this.#running.map((operator) => operator.stop()));
    await this.clock.advance(20_000);
    await stopped;
  }

  /** Lets some time go by. */
  async run(ms = 100): Promise<void> {
    await this.clock.advance(ms);
  }

  /** Makes the source hold these files alone, as the manager does. */
  async upload(source: string, files: Record<string, string>): Promise<void> {
    const entries = Object.entries(files).map(([path, text]) => ({
      path,
      digest: sha256(text),
      size: text.length,
      mtime: 0,
    }));
    for (const text of Object.values(files)) await this.content.put(Buffer.from(text));
    const { bytes, digest } = encodeTree({ files: entries });
    await this.content.put(bytes);
    const existing = await this.store.get('CodeSource', source);
    const spec = { type: 'manual' as const, enabled: true, manual: { tree: digest } };
    if (existing === undefined) await this.store.create({ kind: 'CodeSource', metadata: { name: source }, spec });
    else await this.store.update({ ...existing, spec: { ...existing.spec, manual: { tree: digest } } });
  }

  async createFunction(name: string, spec: Partial<FunctionSpec> = {}): Promise<void> {
    const whole = functionSpecSchema.parse({ handler: 'api/main.ts', route: `/${name}`, methods: ['GET'], ...spec });
    await this.store.create({ kind: 'Function', metadata: { name }, spec: whole });
  }

  async edit<K extends Kind>(kind: K, name: string, change: Partial<KindTypes[K]['spec']>): Promise<void> {
    const resource = await this.get(kind, name);
    await this.store.update<K>({ ...resource, spec: { ...resource.spec, ...change } });
  }

  async createKey(name: string, keyGroup: string, value: string): Promise<void> {
    const owner = { kind: 'ApiKey' as const, metadata: { namespace: this.store.namespace, name } };
    const sealed = sealConfidential(this.keyRing, owner, 'spec.value', value);
    await this.store.create({ kind: 'ApiKey', metadata: { name }, spec: { keyGroup, enabled: true, value: sealed } });
  }

  async createSecret(name: string, spec: Omit<FunctionSecretSpec, 'value'>, value: string): Promise<void> {
    const owner = { kind: 'FunctionSecret' as const, metadata: { namespace: this.store.namespace, name } };
    const sealed = sealConfidential(this.keyRing, owner, 'spec.value', value);
    await this.store.create({ kind: 'FunctionSecret', metadata: { name }, spec: { ...spec, value: sealed } });
  }

  async get<K extends Kind>(kind: K, name: string): Promise<Resource<K>> {
    const resource = await this.store.get(kind, name);
    if (resource === undefined) throw new Error(`there is no ${kind} ${name}`);
    return resource;
  }

  fn(name: string): Promise<FunctionResource> {
    return this.get('Function', name);
  }
}

/** `<status> <reason>: <message>` of a condition. */
export function conditionOf(
  resource: { status: { conditions?: Condition[] | undefined } },
  type: ConditionType,
): string {
  const condition = findCondition(resource.status.conditions, type);
  return condition === undefined ? 'none' : `${condition.status} ${condition.reason}: ${condition.message}`;
}
