import { findCondition } from '@wherry/core/resources/conditions.ts';
import { functionSpecSchema, type Cors, type FunctionSpec } from '@wherry/core/resources/function.ts';
import { displayName, type FunctionResource } from '@wherry/core/resources/kinds.ts';
import { isoOrNull, isoTime, timesOf } from '../object-access/shape.ts';
import type { FunctionBody, FunctionView, RevisionView } from './function-schemas.ts';

/** Fields that a body without them does not change. */
type Kept = Pick<FunctionSpec, 'enabled'> & {
  keyGroups: FunctionSpec['keyGroups'];
  revision: FunctionSpec['revision'];
};

/** The spec that a body stands for, with the defaults of the schema for omitted fields, except those in `kept`. */
export function specOf(body: FunctionBody, kept: Kept): FunctionSpec {
  // Only null and [] make a function public: changing only its timeout must not.
  const keyGroups = body.keys === undefined ? (kept.keyGroups ?? []) : [...new Set(body.keys)];
  return functionSpecSchema.parse(
    withoutEmpty({
      displayName: body.name,
      description: body.description,
      handler: body.handler,
      route: body.route,
      methods: body.methods,
      keyGroups: keyGroups.length === 0 ? undefined : keyGroups,
      cors: body.cors === undefined || body.cors === null ? undefined : withoutEmpty(body.cors),
      enabled: body.enabled ?? kept.enabled,
      timeoutSeconds: body.timeoutSeconds,
      maxRequestBytes: body.maxRequestBytes,
      maxConcurrency: body.maxConcurrency,
      scaling: withoutEmpty(body.scaling ?? {}),
      resources: withoutEmpty(body.resources ?? {}),
      debug: body.debug,
      revision: kept.revision,
    }),
  );
}

/** `null` clears a field: what is left out gets its default. */
function withoutEmpty(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

/** A function as the API shows it. @param functionUrl the base of the function port, without a trailing slash. */
export function functionView(resource: FunctionResource, functionUrl: string): FunctionView {
  const { spec, metadata } = resource;
  const { createdAt, updatedAt } = timesOf(resource);
  return {
    id: metadata.name,
    name: displayName(resource),
    description: spec.description ?? null,
    handler: spec.handler,
    route: spec.route,
    methods: spec.methods,
    keys: spec.keyGroups === undefined || spec.keyGroups.length === 0 ? null : spec.keyGroups,
    cors: spec.cors === undefined ? null : corsView(spec.cors),
    enabled: spec.enabled,
    timeoutSeconds: spec.timeoutSeconds,
    maxRequestBytes: spec.maxRequestBytes,
    maxConcurrency: spec.maxConcurrency,
    scaling: spec.scaling,
    resources: spec.resources,
    debug: spec.debug,
    pinnedRevision: spec.revision ?? null,
    createdAt,
    updatedAt,
    status: {
      ...readiness(resource),
      url: `${functionUrl}/run${spec.route}`,
      revision: resource.status.activeRevision ?? null,
      replicas: resource.status.replicas ?? 0,
      readyReplicas: resource.status.readyReplicas ?? 0,
    },
  };
}

function corsView(cors: Cors): FunctionView['cors'] {
  return {
    origins: cors.origins,
    credentials: cors.credentials ?? false,
    maxAge: cors.maxAge,
    allowHeaders: cors.allowHeaders ?? [],
    exposeHeaders: cors.exposeHeaders ?? [],
  };
}

type Readiness = Pick<FunctionView['status'], 'ready' | 'reason' | 'message'>;

/**
 * Whether a working revision answers calls, and what is wrong if anything is. The condition Ready says the latter: it
 * is False after a broken edit too, while the last good revision still answers. What it says about an earlier
 * definition does not apply to this one.
 */
function readiness(resource: FunctionResource): Readiness {
  const { spec, status, metadata } = resource;
  if (!spec.enabled) return { ready: false, reason: 'Disabled', message: 'The function is disabled: calls get 404.' };
  const condition = findCondition(status.conditions, 'Ready');
  const routed = findCondition(status.conditions, 'RouteAccepted')?.status === 'True';
  const ready = routed && status.activeRevision !== undefined && (status.readyReplicas ?? 0) > 0;
  if (condition === undefined || status.observedGeneration !== metadata.generation) {
    return { ready, reason: 'Pending', message: 'The last change of the definition is being applied.' };
  }
  return { ready, reason: condition.reason, message: condition.message };
}

/** The revisions that can be rolled back to, newest first. */
export function revisionViews({ status }: FunctionResource): RevisionView[] {
  return (status.revisions ?? []).map((revision) => ({
    ...revision,
    createdAt: isoOrNull(revision.createdAt) ?? isoTime(0),
    active: revision.revision === status.activeRevision,
  }));
}
