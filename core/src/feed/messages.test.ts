import { helloSchema, routerDownSchema, routerUpSchema, runtimeDownSchema, runtimeUpSchema } from './messages.ts';

const fn = {
  id: 'hello-1',
  namespace: 'wherry',
  route: '/hello',
  methods: ['GET'],
  keyGroups: null,
  cors: null,
  timeoutMs: 30_000,
  maxRequestBytes: 1,
  maxConcurrency: null,
  revision: 'r1',
  instances: [{ id: 'i1', revision: 'r1', address: { path: '/run/i1.sock' }, token: 't' }],
  failure: null,
};
const key = { digest: 'd', id: 'k', name: 'acme', groupId: 'g', groupName: 'partners', expiresAt: null };
const snapshot = {
  type: 'snapshot',
  epoch: 'e',
  version: 1,
  resourceVersion: '7',
  digestKey: 'AA',
  settings: { logLevel: 'info' },
  functions: [fn],
  keys: [key],
};
const log = {
  functionName: 'hello-1',
  requestId: 'r',
  level: 'exec_end',
  message: '1ms',
  args: null,
  sequence: 1,
  timestamp: 1.5,
};
const state = {
  function: {
    id: 'hello-1',
    namespace: 'wherry',
    name: 'hello',
    description: null,
    handler: 'a/b.ts',
    route: '/hello',
    methods: ['GET'],
    keyGroups: null,
    debug: false,
  },
  settings: { logLevel: 'info' },
  secrets: [],
};
const start = {
  type: 'start',
  revision: 'r1',
  artifact: 'export default 1',
  invocationToken: 't',
  listen: { host: '127.0.0.1', port: 0 },
  state,
};

const hello = { type: 'hello', role: 'router', instance: 'router-1', resourceVersion: '0' };

const schemas = {
  hello: helloSchema,
  routerDown: routerDownSchema,
  routerUp: routerUpSchema,
  runtimeDown: runtimeDownSchema,
  runtimeUp: runtimeUpSchema,
};
type Way = keyof typeof schemas;

describe('feed messages', () => {
  it.each<[Way, object]>([
    ['hello', hello],
    ['hello', { ...hello, resourceVersion: '9'.repeat(40) }],
    [
      'hello',
      { type: 'hello', role: 'runtime', instance: 'pod-1', workload: 'hello-1', functionUid: 'uid-1', token: 't' },
    ],
    ['routerDown', snapshot],
    ['routerDown', { type: 'change', version: 2, resourceVersion: '8', removedKeys: ['d'] }],
    ['routerDown', { type: 'heartbeat', version: 2, resourceVersion: '8' }],
    ['routerUp', { type: 'applied', version: 2 }],
    ['routerUp', { type: 'demand', functions: { 'hello-1': { inFlight: 1, waiting: 0 } } }],
    ['routerUp', { type: 'logs', entries: [log], dropped: 0 }],
    ['runtimeDown', start],
    ['runtimeDown', { type: 'state', state }],
    ['runtimeDown', { type: 'heartbeat' }],
    ['runtimeUp', { type: 'loaded', address: { path: '/run/i1.sock' } }],
    ['runtimeUp', { type: 'failed', reason: 'LoadError', message: 'it throws' }],
    ['runtimeUp', { type: 'logs', entries: [log], dropped: 3 }],
    ['runtimeUp', { type: 'logs', entries: [], dropped: 1_000_000, following: 10_000 }],
  ])('%s takes %j as it was sent', (way, message) => {
    expect(schemas[way].parse(JSON.parse(JSON.stringify(message)))).toEqual(message);
  });

  it.each<[string, Way, object]>([
    ['R6: a router is sent no value of a key', 'routerDown', { ...snapshot, keys: [{ ...key, value: 'wh_value' }] }],
    [
      'R2: an address is a socket or a host with its port',
      'routerDown',
      { ...snapshot, functions: [{ ...fn, instances: [{ ...fn.instances[0], address: { host: 'a' } }] }] },
    ],
    ['a hello from a state that cannot be compared', 'hello', { ...hello, resourceVersion: 'v7' }],
    ['a hello from no state', 'hello', { ...hello, resourceVersion: '' }],
    ['a hello from a negative state', 'hello', { ...hello, resourceVersion: '-1' }],
    ['a hello from a state longer than any', 'hello', { ...hello, resourceVersion: '9'.repeat(41) }],
    ['S8: fewer than no dropped entries', 'runtimeUp', { type: 'logs', entries: [], dropped: -1 }],
    ['S8: more dropped entries than there can be', 'runtimeUp', { type: 'logs', entries: [], dropped: 1_000_001 }],
    [
      'S8: more dropped entries of a router than there can be',
      'routerUp',
      { type: 'logs', entries: [], dropped: Number.MAX_SAFE_INTEGER },
    ],
    [
      'S8: more last entries than a runtime keeps',
      'runtimeUp',
      { type: 'logs', entries: [], dropped: 0, following: 10_001 },
    ],
    ['an unknown type', 'routerDown', { type: 'reset' }],
    ['a message for somebody else', 'routerUp', { type: 'heartbeat', version: 1, resourceVersion: '1' }],
    ['a snapshot without keys', 'routerDown', { ...snapshot, keys: undefined }],
    ['a start without a token', 'runtimeDown', { ...start, invocationToken: undefined }],
    ['a runtime that says CrashLoop of itself', 'runtimeUp', { type: 'failed', reason: 'CrashLoop', message: '' }],
  ])('refused: %s', (_title, way, message) => {
    expect(schemas[way].safeParse(message).success).toBe(false);
  });
});
