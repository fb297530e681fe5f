import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ObjectWrites, WrittenObject } from '@wherry/core/ports/object-writes.ts';
import { ALL_KINDS, type Kind } from '@wherry/core/resources/kinds.ts';
import { Backoff } from '@wherry/service/backoff.ts';
import { ListWatchInformer } from '@wherry/service/list-watch-informer.ts';
import type { AuditRecord } from './audit-record.ts';
import type { AuditStore } from './audit-store.ts';
import { decideKubernetesRecords } from './decide-kubernetes-records.ts';
import type { OwnWrites } from './own-writes.ts';
import { withoutKeys, type KnowsKey } from './without-keys.ts';

const RETRY = { firstMs: 1000, lastMs: 60_000 };

interface KubernetesAuditOptions {
  writes: ObjectWrites;
  own: OwnWrites;
  store: Pick<AuditStore, 'append' | 'query'>;
  /** How long records are kept, now. */
  retentionMs: () => number;
  knowsKey: KnowsKey;
  clock: Clock;
  logger: Logger;
}

interface Pending {
  kind: Kind;
  name: string;
  /** It was there when this program began to look. */
  isFirst: boolean;
}

/**
 * Records what others write with the API of Kubernetes (docs/adr/0027). It compares states of objects, so what it
 * remembers is bounded by their number, and what it missed while the manager was away it learns at the next start.
 */
export class KubernetesAudit {
  readonly #options: KubernetesAuditOptions;
  readonly #informers: ReadonlyMap<Kind, ListWatchInformer<WrittenObject>>;
  readonly #seen = new Map<string, WrittenObject>();
  readonly #pending = new Map<string, Pending>();
  readonly #retries = new Backoff(RETRY);
  readonly #stopping = new AbortController();
  #isWorking = false;
  #working: Promise<void> | undefined;

  constructor(options: KubernetesAuditOptions) {
    this.#options = options;
    const { writes, clock, logger } = options;
    this.#informers = new Map(
      ALL_KINDS.map((kind) => {
        const source = {
          list: () => writes.list(kind),
          watch: (from: { resourceVersion: string; signal: AbortSignal }) => writes.watch(kind, from),
        };
        return [kind, new ListWatchInformer<WrittenObject>({ source, name: `writers of ${kind}`, clock, logger })];
      }),
    );
  }

  /** Returns at once; it lists and watches until it is stopped. */
  start(): void {
    for (const [kind, informer] of this.#informers) {
      let isFirst = true;
      informer.onChange((name) => this.#add({ kind, name, isFirst }));
      void informer.start().then(() => {
        isFirst = false;
      });
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#informers.values()].map((informer) => informer.stop()));
    await this.#working;
  }

  #add(pending: Pending): void {
    const key = `${pending.kind}/${pending.name}`;
    if (!this.#pending.has(key)) this.#pending.set(key, pending);
    if (!this.#isWorking) this.#working = this.#work();
  }

  async #work(): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stopping;
    this.#isWorking = true;
    for (let [next] = this.#pending; next !== undefined && !signal.aborted; [next] = this.#pending) {
      const [key, pending] = next;
      try {
        await this.#look(key, pending);
        this.#retries.reset();
      } catch (error) {
        if (!this.#pending.has(key)) this.#pending.set(key, pending);
        logger.warn({ err: error, object: key }, 'the audit record of a change by kubectl could not be written');
        await clock.sleep(this.#retries.failed(), signal).catch(() => undefined);
      }
    }
    this.#isWorking = false;
  }

  async #look(key: string, { kind, name, isFirst }: Pending): Promise<void> {
    const { own, store, clock } = this.#options;
    await own.idle(kind, name);
    // From here to the look at what this process has written nothing may be awaited.
    this.#pending.delete(key);
    const current = this.#informers.get(kind)?.get(name);
    const previous = this.#seen.get(key);
    const decided = decideKubernetesRecords({ previous, current, isFirst, own, now: clock.now() });
    const masked = decided.map((record) => ({
      ...record,
      object: withoutKeys(record.object, this.#options.knowsKey),
    }));
    const records = isFirst ? await this.#unrecorded(masked) : masked;
    if (records.length > 0) await store.append(records);
    if (current === undefined) this.#seen.delete(key);
    else this.#seen.set(key, current);
  }

  /** Without those that an earlier run has recorded, and those that would be removed by their age. */
  async #unrecorded(records: AuditRecord[]): Promise<AuditRecord[]> {
    const oldest = this.#options.clock.now() - this.#options.retentionMs();
    const found: AuditRecord[] = [];
    for (const record of records) {
      if (record.timestamp >= oldest && !(await this.#isRecorded(record))) found.push(record);
    }
    return found;
  }

  async #isRecorded({ actor, object, timestamp }: AuditRecord): Promise<boolean> {
    const [known] = await this.#options.store.query({
      actor: actor.name,
      objectId: object.id ?? '',
      since: timestamp,
      until: timestamp + 1,
      limit: 1,
    });
    return known !== undefined;
  }
}
