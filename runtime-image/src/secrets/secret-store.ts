import type { RuntimeSecret } from '@wherry/core/feed/messages.ts';
import type { InvocationContext } from '@wherry/core/feed/invocation.ts';

type CallKey = NonNullable<InvocationContext['key']>;
export type SecretScope = RuntimeSecret['scope'];

/** Every scope's value of one name. */
export interface CompleteSecret {
  global?: string;
  function?: string;
  group?: { value: string; groupId: string; groupName: string };
  key?: { value: string; groupId: string; groupName: string; keyId: string; keyName: string };
}

const BY_PRECEDENCE = ['key', 'group', 'function', 'global'] as const;

/** The secrets that this function was granted, as the feed last sent them. */
export class SecretStore {
  #byName: ReadonlyMap<string, RuntimeSecret[]> = new Map();
  readonly #onRead: (value: string) => void;

  /** @param onRead receives each value that is handed out, so that it can be masked in log lines. */
  constructor(onRead: (value: string) => void) {
    this.#onRead = onRead;
  }

  /** Replaces them all; running calls keep the secrets that they began with. */
  replace(secrets: RuntimeSecret[]): void {
    this.#byName = Map.groupBy(secrets, (secret) => secret.name);
  }

  /** What a call with this key may read (S5): without one, only the scopes global and function. */
  view(key: CallKey | undefined): SecretView {
    return new SecretView(this.#byName, key, this.#onRead);
  }
}

/** One call's secrets. */
export class SecretView {
  readonly #byName: ReadonlyMap<string, RuntimeSecret[]>;
  readonly #key: CallKey | undefined;
  readonly #onRead: (value: string) => void;

  constructor(byName: ReadonlyMap<string, RuntimeSecret[]>, key: CallKey | undefined, onRead: (value: string) => void) {
    this.#byName = byName;
    this.#key = key;
    this.#onRead = onRead;
  }

  /** The value by precedence, or of just that scope. */
  get(name: string, scope?: SecretScope): string | undefined {
    if (scope !== undefined && !BY_PRECEDENCE.includes(scope)) {
      throw new TypeError(`getSecret: the scope must be one of ${BY_PRECEDENCE.join(', ')}, not ${String(scope)}`);
    }
    for (const candidate of scope === undefined ? BY_PRECEDENCE : [scope]) {
      const value = this.#find(name, candidate);
      if (value !== undefined) return this.#handOut(value);
    }
    return undefined;
  }

  complete(name: string): CompleteSecret | undefined {
    const found: CompleteSecret = {};
    for (const scope of BY_PRECEDENCE) {
      const value = this.#find(name, scope);
      if (value !== undefined) this.#add(found, scope, this.#handOut(value));
    }
    return Object.keys(found).length === 0 ? undefined : found;
  }

  names(): string[] {
    return [...this.#byName.keys()].filter((name) => this.has(name));
  }

  has(name: string): boolean {
    return BY_PRECEDENCE.some((scope) => this.#find(name, scope) !== undefined);
  }

  #find(name: string, scope: SecretScope): string | undefined {
    const owner = this.#ownerIn(scope);
    if (owner === undefined) return undefined;
    const secrets = this.#byName.get(name);
    return secrets?.find((secret) => secret.scope === scope && (owner === null || secret.owner === owner))?.value;
  }

  /**
   * The required owner of secrets of a scope; null where all of them belong to this function; undefined where the call
   * may see none.
   */
  #ownerIn(scope: SecretScope): string | null | undefined {
    if (scope === 'key') return this.#key?.id;
    return scope === 'group' ? this.#key?.groupId : null;
  }

  #handOut(value: string): string {
    this.#onRead(value);
    return value;
  }

  #add(found: CompleteSecret, scope: SecretScope, value: string): void {
    const key = this.#key;
    if (scope === 'global' || scope === 'function') found[scope] = value;
    else if (key !== undefined) {
      const group = { value, groupId: key.groupId, groupName: key.groupName };
      if (scope === 'group') found.group = group;
      else found.key = { ...group, keyId: key.id, keyName: key.name };
    }
  }
}
