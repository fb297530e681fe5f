import { findCondition, type Reason } from '@wherry/core/resources/conditions.ts';
import type { RouterFunction, RouterInstance } from '@wherry/core/feed/messages.ts';
import type { BuildFailureReason } from '@wherry/core/ports/builder.ts';
import type { ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import { DEFAULT_MAX_CONCURRENCY } from '@wherry/core/resources/function.ts';
import type { FunctionResource } from '@wherry/core/resources/kinds.ts';

type FailureCode = NonNullable<RouterFunction['failure']>['code'];

/**
 * How calls are answered while no build of a function has succeeded; undefined when the build is retried automatically,
 * and the call waits.
 */
const BUILD_FAILURES: Record<BuildFailureReason, FailureCode | undefined> = {
  SourceNotFound: 'handler_not_found',
  HandlerNotFound: 'handler_not_found',
  SyntaxError: 'handler_syntax_error',
  ImportNotFound: 'handler_load_error',
  ImportNotSupported: 'handler_load_error',
  BuildTimeout: 'handler_syntax_error',
  BuildOutOfMemory: 'handler_syntax_error',
  BuildTooLarge: 'handler_syntax_error',
  BuildFailed: 'handler_syntax_error',
  ExportError: 'handler_export_error',
  ManifestInvalid: 'handler_load_error',
  LockOutdated: 'handler_load_error',
  PackageNotFound: 'handler_load_error',
  PackageRefused: 'handler_load_error',
  PackageConflict: 'handler_load_error',
  PackageTooLarge: 'handler_load_error',
  InstallOutOfMemory: 'handler_load_error',
  RegistryUnavailable: undefined,
  PackageCorrupt: undefined,
  InstallTimeout: undefined,
  InstallFailed: undefined,
};

/** The answers by reason; for a reason that is not listed, the call waits. */
const FAILURES: Partial<Record<Reason, FailureCode | undefined>> = {
  ...BUILD_FAILURES,
  SourceNotReady: 'handler_not_found',
  RevisionNotFound: 'handler_not_found',
  LoadError: 'handler_load_error',
  CrashLoop: 'handler_load_error',
};

interface RouterFacts {
  fn: FunctionResource;
  /** All workloads of the function. */
  workloads: ObservedWorkload[];
  /** Whether the function has its route. Not read from its status: a new function is called before that is written. */
  hasRoute: boolean;
  tokenOf: (workload: string) => string;
}

/** A function as routers know it; undefined for one that they must not know. Pure. */
export function routerFunction({ fn, workloads, hasRoute, tokenOf }: RouterFacts): RouterFunction | undefined {
  const { spec, status, metadata } = fn;
  if (!spec.enabled || metadata.deletionTimestamp !== undefined || !hasRoute) return undefined;
  return {
    id: metadata.name,
    namespace: metadata.namespace,
    route: spec.route,
    methods: spec.methods,
    keyGroups: spec.keyGroups ?? null,
    cors: corsOf(spec.cors),
    timeoutMs: spec.timeoutSeconds * 1000,
    maxRequestBytes: spec.maxRequestBytes,
    maxConcurrency: spec.maxConcurrency ?? DEFAULT_MAX_CONCURRENCY,
    revision: status.activeRevision ?? null,
    instances: instancesOf(
      workloads.find(({ name }) => name === status.activeWorkload),
      tokenOf,
    ),
    failure: status.activeRevision === undefined ? failureOf(fn) : null,
  };
}

function corsOf(cors: FunctionResource['spec']['cors']): RouterFunction['cors'] {
  if (cors === undefined) return null;
  const { origins, credentials = false, maxAge, allowHeaders = [], exposeHeaders = [] } = cors;
  return { origins, credentials, maxAge, allowHeaders, exposeHeaders };
}

function instancesOf(workload: ObservedWorkload | undefined, tokenOf: (workload: string) => string): RouterInstance[] {
  if (workload === undefined) return [];
  return workload.instances.flatMap(({ id, address, ready }) =>
    ready && address !== undefined ? [{ id, revision: workload.revision, address, token: tokenOf(workload.name) }] : [],
  );
}

/**
 * The message names files and lines, and may contain the text of an error: callers get it only where they get the
 * messages of thrown errors.
 */
function failureOf({ spec, status }: FunctionResource): RouterFunction['failure'] {
  const condition = findCondition(status.conditions, 'CodeReady');
  const code = condition?.status === 'False' ? FAILURES[condition.reason as Reason] : undefined;
  return code === undefined ? null : { code, message: spec.debug ? (condition?.message ?? '') : '' };
}
