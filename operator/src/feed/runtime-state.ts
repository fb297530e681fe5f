import type { RuntimeSecret, RuntimeState } from '@wherry/core/feed/messages.ts';
import { displayName, type FunctionResource } from '@wherry/core/resources/kinds.ts';

/** What a function's runtimes know of it. Pure. */
export function runtimeState(
  fn: FunctionResource,
  settings: RuntimeState['settings'],
  secrets: RuntimeSecret[],
): RuntimeState {
  const { spec, metadata } = fn;
  return {
    function: {
      id: metadata.name,
      namespace: metadata.namespace,
      name: displayName(fn),
      description: spec.description ?? null,
      handler: spec.handler,
      route: spec.route,
      methods: spec.methods,
      keyGroups: spec.keyGroups ?? null,
      debug: spec.debug,
    },
    settings,
    secrets,
  };
}
