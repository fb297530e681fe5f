import type { Clock } from '@wherry/core/ports/clock.ts';
import { displayName, type Kind, type Resource } from '@wherry/core/resources/kinds.ts';
import type { Informer } from '@wherry/service/informer.ts';
import { functionView } from '../functions/function-mapping.ts';
import type { OwnedKeyLedger } from '../key-ledger/open-key-ledger.ts';
import { groupView } from '../key-groups/key-group-service.ts';
import { keyView } from '../keys/key-routes.ts';
import { secretView } from '../secrets/secret-mapping.ts';
import { settingViews } from '../settings/setting-service.ts';
import { sourceView } from '../sources/source-mapping.ts';
import type { KeyCounts } from './key-counts.ts';

interface ObjectViewsOptions {
  counts: KeyCounts;
  groups: Informer<'KeyGroup'>;
  keyLedger: Pick<OwnedKeyLedger, 'lastUsedAt'>;
  clock: Pick<Clock, 'now'>;
  /** The base of the function port, without a trailing slash. */
  functionUrl: string;
}

/** What `GET` of an object returns, by kind, without values of keys and secrets. */
export function objectViews({ counts, groups, functionUrl, ...shown }: ObjectViewsOptions): {
  [K in Kind]: (resource: Resource<K>) => unknown;
} {
  return {
    Function: (resource) => functionView(resource, functionUrl),
    CodeSource: sourceView,
    KeyGroup: (group) => groupView(group, counts.of(group.metadata.name)),
    ApiKey(key) {
      const group = groups.get(key.spec.keyGroup);
      return keyView(key, group && displayName(group), shown);
    },
    FunctionSecret: secretView,
    Settings: (settings) => ({ settings: settingViews(settings) }),
  };
}
