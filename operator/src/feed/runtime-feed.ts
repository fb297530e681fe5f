import { createHash, type KeyObject } from 'node:crypto';
import { isDomainError } from '@wherry/core/errors.ts';
import {
  HEARTBEAT_SECONDS,
  runtimeUpSchema,
  type RuntimeDown,
  type RuntimeState,
  type RuntimeUp,
} from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { RuntimeFeed, RuntimeIdentity, RuntimeOutcome, RuntimeSession } from '@wherry/core/ports/runtime-feed.ts';
import type { InstanceAddress } from '@wherry/core/ports/workloads.ts';
import { createConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { secretOwner, type Caches } from '../informers/caches.ts';
import { createSecretOpener, type SecretOpener } from '../secrets/open-secrets.ts';
import { invocationToken } from './invocation-token.ts';
import { logSettings } from './log-settings.ts';
import type { LogIntake } from './log-intake.ts';
import { runtimeState } from './runtime-state.ts';

/** Changes that come within this time are sent as one. */
const COALESCE_MS = 1;

interface RuntimeFeedOptions {
  caches: Caches;
  content: ContentStore;
  keyRing: KeyRing;
  referencedSecrets: ReferencedSecrets;
  invocationKey: KeyObject;
  logs: LogIntake;
  clock: Clock;
  logger: Logger;
}

interface Session {
  channel: FeedChannel;
  identity: RuntimeIdentity;
  resolve: (outcome: RuntimeOutcome) => void;
  heardAt: number;
  /** Digest of the state that it was last sent: the state itself holds secrets. Undefined before `start`. */
  sent: string | undefined;
  ended: boolean;
  /** How many of the final log entries that it announced have not arrived yet. */
  following: number;
  cancelBeat: () => void;
}

/**
 * The runtimes' feed. It needs only the caches, so that the part that runs instances can be created before the
 * operator.
 */
export class CachedRuntimeFeed implements RuntimeFeed {
  readonly #options: RuntimeFeedOptions;
  readonly #secrets: SecretOpener;
  /** By function. */
  readonly #sessions = new Map<string, Set<Session>>();
  #refreshing = false;
  readonly #touched = new Set<string>();

  constructor(options: RuntimeFeedOptions) {
    const { caches, referencedSecrets } = options;
    this.#options = options;
    this.#secrets = createSecretOpener(
      caches,
      createConfidentialReader(options.keyRing, referencedSecrets),
      referencedSecrets,
      options.keyRing,
    );
    options.keyRing.onChange(() => this.#touch(this.#sessions.keys()));
    caches.functions.onChange((name) => this.#touch([name]));
    caches.settings.onChange(() => this.#touch(this.#sessions.keys()));
    caches.keysByGroup.onChange((_name, before, after) => this.#touchGroups([...before, ...after]));
    // A function that is created again under the same name gets none of the secrets of the earlier one.
    caches.groups.onChange((name) => this.#touchGroups([name]));
    caches.keys.onChange((_name, key) => this.#touchGroups(key === undefined ? [] : [key.spec.keyGroup]));
    caches.secretsByOwner.onChange((_name, before, after) => this.#touchOwners([...before, ...after]));
    referencedSecrets.onChange((name) => {
      const users = [...caches.secretsByReference.names(name)].flatMap((user) => caches.secrets.get(user) ?? []);
      this.#touchOwners(users.map(({ spec }) => secretOwner(spec)));
    });
  }

  attach(channel: FeedChannel, identity: RuntimeIdentity): RuntimeSession {
    const { promise, resolve } = Promise.withResolvers<RuntimeOutcome>();
    const heardAt = this.#options.clock.monotonic();
    const session: Session = {
      channel,
      identity,
      resolve,
      heardAt,
      sent: undefined,
      ended: false,
      following: 0,
      cancelBeat: () => undefined,
    };
    const { functionName } = identity;
    this.#sessions.set(functionName, (this.#sessions.get(functionName) ?? new Set()).add(session));
    void this.#begin(session);
    void this.#listen(session);
    return { outcome: promise, lastHeard: () => session.heardAt };
  }

  async #begin(session: Session): Promise<void> {
    const { content, invocationKey, logger } = this.#options;
    const { identity, channel } = session;
    try {
      const artifact = (await content.get(identity.revision)).toString('utf8');
      const state = this.#stateOf(identity.functionName);
      if (session.ended) return;
      // It was deleted meanwhile: there is nothing to start any more.
      if (state === undefined) return channel.close();
      const { revision, workload, listen } = identity;
      session.sent = digestOf(state);
      this.#send(session, {
        type: 'start',
        revision,
        artifact,
        invocationToken: invocationToken(invocationKey, workload),
        listen,
        state,
      });
      this.#beatLater(session);
    } catch (error) {
      logger.warn(
        { err: error, instance: identity.instanceId, revision: identity.revision },
        'the artifact cannot be read',
      );
      if (isDomainError(error, 'not_found')) {
        session.resolve({
          type: 'failed',
          reason: 'LoadError',
          message: `The artifact of revision ${identity.revision} is no longer stored.`,
        });
      }
      channel.close();
    }
  }

  #beatLater(session: Session): void {
    session.cancelBeat = this.#options.clock.after(HEARTBEAT_SECONDS * 1000, () => {
      this.#send(session, { type: 'heartbeat' });
      this.#beatLater(session);
    });
  }

  async #listen(session: Session): Promise<void> {
    const { channel, identity, resolve } = session;
    const { logger } = this.#options;
    try {
      for await (const message of channel.messages()) if (!this.#receive(session, message)) break;
    } catch (error) {
      logger.warn({ err: error, instance: identity.instanceId }, "a runtime's feed connection failed");
    }
    session.ended = true;
    session.cancelBeat();
    channel.close();
    // It ended before all of its final messages were sent.
    this.#options.logs.fromRuntime({ type: 'logs', entries: [], dropped: session.following }, identity.functionName);
    resolve({ type: 'closed' });
    const sessions = this.#sessions.get(identity.functionName);
    sessions?.delete(session);
    if (sessions?.size === 0) this.#sessions.delete(identity.functionName);
  }

  /** @returns whether the runtime may send more. */
  #receive(session: Session, message: unknown): boolean {
    const parsed = runtimeUpSchema.safeParse(message);
    if (!parsed.success || !isPossible(parsed.data, session.identity.listen)) {
      // A handler may have gained access to the connection, which is therefore no longer trusted.
      this.#options.logger.warn(
        { instance: session.identity.instanceId },
        'a runtime sent an invalid message; closing its connection',
      );
      return false;
    }
    session.heardAt = this.#options.clock.monotonic();
    this.#handle(session, parsed.data);
    return true;
  }

  #handle(session: Session, message: RuntimeUp): void {
    switch (message.type) {
      case 'loaded':
        session.resolve({ type: 'loaded', address: message.address });
        return;
      case 'failed':
        session.resolve({ type: 'failed', reason: message.reason, message: message.message });
        return;
      case 'logs':
        session.following = message.following ?? Math.max(0, session.following - message.entries.length);
        this.#options.logs.fromRuntime(message, session.identity.functionName);
        return;
      case 'alive':
    }
  }

  #touchGroups(groups: string[]): void {
    const { functionsByGroup } = this.#options.caches;
    for (const group of groups) this.#touch(functionsByGroup.names(group));
  }

  #touchOwners(owners: string[]): void {
    const { keys } = this.#options.caches;
    for (const owner of owners) {
      const slash = owner.indexOf('/');
      const [scope, name] = [owner.slice(0, slash), owner.slice(slash + 1)];
      if (scope === 'global') this.#touch(this.#sessions.keys());
      if (scope === 'function') this.#touch([name]);
      if (scope === 'group') this.#touchGroups([name]);
      if (scope === 'key') this.#touchGroups(keys.get(name) === undefined ? [] : [keys.get(name)?.spec.keyGroup ?? '']);
    }
  }

  #touch(functionNames: Iterable<string>): void {
    for (const name of functionNames) if (this.#sessions.has(name)) this.#touched.add(name);
    if (this.#touched.size === 0 || this.#refreshing) return;
    this.#refreshing = true;
    this.#options.clock.after(COALESCE_MS, () => this.#refresh());
  }

  /** Sends each runtime of a touched function its state, if that differs from the last one sent. */
  #refresh(): void {
    this.#refreshing = false;
    const touched = [...this.#touched];
    this.#touched.clear();
    for (const name of touched) {
      const state = this.#stateOf(name);
      if (state === undefined) continue;
      const digest = digestOf(state);
      for (const session of this.#sessions.get(name) ?? []) {
        if (session.sent === undefined || session.sent === digest) continue;
        session.sent = digest;
        this.#send(session, { type: 'state', state });
      }
    }
  }

  #stateOf(functionName: string): RuntimeState | undefined {
    const { caches } = this.#options;
    const fn = caches.functions.get(functionName);
    if (fn === undefined) return undefined;
    const settings = logSettings(caches.settings.get(SETTINGS_NAME));
    return runtimeState(fn, settings, this.#secrets.secretsOf(fn));
  }

  #send({ channel }: Session, message: RuntimeDown): void {
    channel.send(message);
  }
}

/**
 * A runtime that reports another address than it was given could direct routers to any socket that they can open (R2).
 * It may choose only the port, and only where that was left open.
 */
function isPossible(message: RuntimeUp, listen: InstanceAddress): boolean {
  if (message.type !== 'loaded') return true;
  const { address } = message;
  if ('path' in listen) return 'path' in address && address.path === listen.path;
  return 'host' in address && address.host === listen.host && (listen.port === 0 || address.port === listen.port);
}

function digestOf(state: RuntimeState): string {
  return createHash('sha256').update(JSON.stringify(state)).digest('base64');
}
