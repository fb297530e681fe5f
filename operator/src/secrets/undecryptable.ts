import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Gauge, Metrics } from '@wherry/core/ports/metrics.ts';

type EncryptedKind = 'ApiKey' | 'FunctionSecret' | 'CodeSource';

/** Counts the objects whose value cannot be decrypted (E6). */
export interface Undecryptable {
  set(kind: EncryptedKind, name: string, broken: boolean): void;
  /** Another replica counts from now on. */
  clear(): void;
}

export function createUndecryptable(metrics: Metrics): Undecryptable {
  const gauge: Gauge = metrics.gauge(METRICS.undecryptableValues);
  const kinds: EncryptedKind[] = ['ApiKey', 'FunctionSecret', 'CodeSource'];
  const broken = { ApiKey: new Set<string>(), FunctionSecret: new Set<string>(), CodeSource: new Set<string>() };
  return {
    clear() {
      for (const kind of kinds) {
        broken[kind].clear();
        gauge.set(0, { kind });
      }
    },
    set(kind, name, isBroken) {
      if (isBroken) broken[kind].add(name);
      else broken[kind].delete(name);
      gauge.set(broken[kind].size, { kind });
    },
  };
}
