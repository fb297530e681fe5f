import type { ConditionDecision } from '@wherry/core/resources/conditions.ts';
import { setConditions } from '@wherry/core/resources/conditions.ts';
import { routerFunctionSchema } from '@wherry/core/feed/messages.ts';
import type { ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import { functionSpecSchema } from '@wherry/core/resources/function.ts';
import type { FunctionResource } from '@wherry/core/resources/kinds.ts';
import { routerFunction } from './router-function.ts';

const REVISION = 'a'.repeat(64);

function make(spec: object, changes: { decided?: ConditionDecision[]; status?: object } = {}): FunctionResource {
  const { decided = [] } = changes;
  return {
    apiVersion: 'wherry.dev/v1alpha1',
    kind: 'Function',
    metadata: {
      name: 'hello',
      namespace: 'default',
      uid: 'u',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: functionSpecSchema.parse({ handler: 'api/main.ts', route: '/hello/:id', methods: ['GET'], ...spec }),
    status: { conditions: setConditions([], decided, { generation: 1, now: 0 }), ...changes.status },
  };
}
const tokenOf = (workload: string): string => `token of ${workload}`;
const record = (fn: FunctionResource, workloads: ObservedWorkload[] = [], hasRoute = true) =>
  routerFunction({ fn, workloads, hasRoute, tokenOf });

describe("a router's record of a function", () => {
  it('holds all that the router goes by', () => {
    const fn = make({
      keyGroups: ['team'],
      cors: { origins: ['https://a.example'], credentials: true },
      timeoutSeconds: 5,
      maxRequestBytes: 7,
      maxConcurrency: 3,
    });
    const result = record(fn);
    expect(routerFunctionSchema.parse(result)).toEqual({
      id: 'hello',
      namespace: 'default',
      route: '/hello/:id',
      methods: ['GET'],
      keyGroups: ['team'],
      cors: { origins: ['https://a.example'], credentials: true, maxAge: 86_400, allowHeaders: [], exposeHeaders: [] },
      timeoutMs: 5000,
      maxRequestBytes: 7,
      maxConcurrency: 3,
      revision: null,
      instances: [],
      failure: null,
    });
  });

  it.each([
    [null, 1000],
    [3, 3],
    [10_000, 10_000],
  ])('R12: has a finite limit of concurrent calls: %s is %s', (maxConcurrency, expected) => {
    expect(record(make({ maxConcurrency }))?.maxConcurrency).toBe(expected);
  });

  it('has the ready instances of the workload that answers calls, and no others', () => {
    const instance = (id: string, ready: boolean) => ({ id, ready, address: { path: `/run/${id}` } });
    const workload = (name: string, instances: ObservedWorkload['instances']) => ({
      name,
      functionName: 'hello',
      revision: REVISION,
      replicas: 2,
      instances,
    });
    const fn = make({}, { status: { activeRevision: REVISION, activeWorkload: 'hello-1' } });
    const result = record(fn, [
      workload('hello-1', [instance('one', true), instance('two', false), { id: 'three', ready: true }]),
      workload('hello-2', [instance('candidate', true)]),
    ]);
    expect(result?.instances).toEqual([
      { id: 'one', revision: REVISION, address: { path: '/run/one' }, token: 'token of hello-1' },
    ]);
    expect(result?.revision).toBe(REVISION);
  });

  it('is none for one that is disabled, that is being deleted, or that does not have its route', () => {
    const fn = make({});
    expect(record(make({ enabled: false }))).toBeUndefined();
    expect(record({ ...fn, metadata: { ...fn.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } })).toBeUndefined();
    expect(record(fn, [], false)).toBeUndefined();
    expect(record(fn, [], true)).toBeDefined();
  });

  it.each([
    ['SourceNotFound', 'handler_not_found'],
    ['HandlerNotFound', 'handler_not_found'],
    ['SyntaxError', 'handler_syntax_error'],
    ['ImportNotFound', 'handler_load_error'],
    ['ImportNotSupported', 'handler_load_error'],
    ['BuildTimeout', 'handler_syntax_error'],
    ['BuildFailed', 'handler_syntax_error'],
    ['ExportError', 'handler_export_error'],
    ['PackageNotFound', 'handler_load_error'],
    ['ManifestInvalid', 'handler_load_error'],
    ['PackageRefused', 'handler_load_error'],
    ['LoadError', 'handler_load_error'],
    ['CrashLoop', 'handler_load_error'],
  ] as const)('says %s as %s, but only where there never was a good revision', (reason, code) => {
    const decided: ConditionDecision[] = [{ type: 'CodeReady', status: 'False', reason, message: 'why' }];
    expect(record(make({ debug: true }, { decided }))?.failure).toEqual({ code, message: 'why' });
    expect(record(make({}, { decided }))?.failure).toEqual({ code, message: '' });
    expect(record(make({}, { decided, status: { activeRevision: REVISION } }))?.failure).toBeNull();
  });

  it.each([
    ['Building', 'Unknown'],
    ['Starting', 'Unknown'],
    ['RegistryUnavailable', 'False'],
    ['InstallTimeout', 'False'],
  ] as const)('says nothing of %s: the call waits', (reason, status) => {
    const decided: ConditionDecision[] = [{ type: 'CodeReady', status, reason, message: '' }];
    expect(record(make({}, { decided }))?.failure).toBeNull();
  });
});
