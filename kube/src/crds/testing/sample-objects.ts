import type { Kind } from '@wherry/core/resources/kinds.ts';

const fn = { handler: 'api/hello.ts', route: '/hello', methods: ['GET'] };
const sealed = { encrypted: 'wherry1.AAAA' };
const git = { type: 'git', git: { url: 'https://example.org/a.git' } };
const key = { keyGroup: 'partners', value: sealed };
const secret = { name: 'TOKEN', scope: 'global', value: sealed };
const cors = { origins: ['https://a.example'] };
const digest = 'a'.repeat(64);

const route = (pattern: string): [Kind, object] => ['Function', { ...fn, route: pattern }];
const setting = (name: string, value: unknown): [Kind, object] => ['Settings', { values: { [name]: value } }];

/** A kind, a spec, and `metadata.name` where it is not the usual one. */
export type Sample = [kind: Kind, spec: unknown, name?: string];

/** What is taken. Edges of limits stand here, what lies beyond them below. */
export const GOOD: readonly Sample[] = [
  ['Function', fn],
  ['Function', fn, 'x'.repeat(63)],
  ['Function', fn, '0'],
  ['Function', { ...fn, methods: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'] }],
  ['Function', { ...fn, keyGroups: ['a', 'b'], timeoutSeconds: 3600, maxRequestBytes: 0, maxConcurrency: 10_000 }],
  ['Function', { ...fn, maxConcurrency: null, resources: { cpuMillis: null, memoryMiB: 8192 } }],
  ['Function', { ...fn, displayName: '💾'.repeat(64), description: 'ä'.repeat(1024) }],
  ['Function', { ...fn, cors: { origins: ['https://a.example:8443', 'http://localhost:3000'], credentials: true, maxAge: 0 } }],
  ['Function', { ...fn, cors: { origins: ['*'], allowHeaders: ['X-A', 'x_b'], exposeHeaders: ['ETag'] } }],
  ['Function', { ...fn, scaling: { minReplicas: 2, maxReplicas: 2 } }],
  ['Function', { ...fn, scaling: { minReplicas: 1, maxReplicas: 100, targetConcurrency: 1000, idleSeconds: 86_400 } }],
  ['Function', { ...fn, revision: digest, debug: true, enabled: false }],
  ['Function', { ...fn, handler: 'My_src-1/a/b c.mts' }],
  ['Function', { ...fn, handler: 'a/...' }],
  ['Function', { ...fn, handler: 'a/.env' }],
  ['Function', { ...fn, handler: `${'a'.repeat(64)}/${'💾'.repeat(1024)}` }],
  ...['/', '/*', '/:a/:b/*', '/a/:ab/:a', '/%E2%82%AC', '/...', '/%2e%2e%2e', "/-._~!$&'()+,;=@", `/${'a'.repeat(511)}`]
    .map(route),
  route(Array.from({ length: 100 }, (_, index) => `/:p${index}`).join('')),
  ['CodeSource', { type: 'manual' }],
  ['CodeSource', { type: 'manual', manual: { tree: digest }, displayName: 'My_source-1', enabled: false }],
  ['CodeSource', { type: 'manual', displayName: 'codes' }],
  ['CodeSource', git],
  ['CodeSource', { ...git, sync: { intervalSeconds: 0, webhook: { enabled: true, secret: sealed } } }],
  ['CodeSource', { ...git, git: { ...git.git, branch: 'main', tag: 'v1', commit: 'a'.repeat(40), authToken: { secretKeyRef: { name: 'git', key: 'token' } } } }],
  ['KeyGroup', {}],
  ['KeyGroup', { displayName: 'partners_1', description: '' }],
  ['ApiKey', key],
  ['ApiKey', { ...key, displayName: 'acme', enabled: false, expiresAt: '2030-01-01T00:00:00+01:00' }],
  ['ApiKey', { ...key, expiresAt: '2028-02-29T23:59:59.123Z' }],
  ['ApiKey', { ...key, value: { secretKeyRef: { name: 'keys', key: 'acme' } } }],
  ['FunctionSecret', secret],
  ['FunctionSecret', { ...secret, scope: 'function', function: 'hello-abc', comment: 'c' }],
  ['FunctionSecret', { ...secret, scope: 'group', keyGroup: 'partners' }],
  ['FunctionSecret', { ...secret, scope: 'key', apiKey: 'partners-acme' }],
  ['Settings', {}, 'wherry'],
  ['Settings', { values: {} }, 'wherry'],
  ...(
    [
      ['log.level', 'none'], ['server.name', '💾'.repeat(64)], ['log.trimming.retention-seconds', '0'], ['files.max-size-bytes', '0000524288'],
      ['api.access-groups', ''], ['api.access-groups', ' a , b,,c-d\u00a0'], ['metrics.retention-days', '365'],
    ] as const
  ).map(([name, value]): Sample => [...setting(name, value), 'wherry']),
];

/** What is refused, with the field that is named. */
export const BAD: readonly [field: string, ...Sample][] = [
  ...['dot.dot', 'a.b'].map((name): [string, ...Sample] => ['metadata.name', 'Function', fn, name]),
  ['metadata.name', 'KeyGroup', {}, 'x'.repeat(64)],
  ['metadata.name', 'Settings', {}, 'other'],
  ['spec', 'KeyGroup', undefined],
  ['spec.podSpec', 'Function', { ...fn, podSpec: {} }],
  ['spec.handler', 'Function', { route: '/a', methods: ['GET'] }],
  ...['hello.ts', 'api/../hello.ts', 'api//hello.ts', 'api/./a.ts', 'api/a/', 'api/..', '-api/hello.ts', 'api/a\\b.ts', 'api/a\0.ts', `a/${'b'.repeat(1088)}`]
    .map((handler): [string, ...Sample] => ['spec.handler', 'Function', { ...fn, handler }]),
  ...[
    '', 'hello', '/a/', '//', '/a//b', '/*/a', '/a*', '/:', '/:1', '/a:b', '/a b', '/ä', '/%', '/%zz', '/a%2Fb', '/%5c', '/%00', '/%ff', '/%c3', '/%C0%80',
    '/%ed%a0%80', '/%f4%90%80%80', '/.', '/..', '/a/%2e', '/.%2E/a', '/:a/:a', '/:a/b/:c/:a', `/${'a'.repeat(512)}`,
  ].map((pattern): [string, ...Sample] => ['spec.route', ...route(pattern)]),
  ['spec.methods', 'Function', { ...fn, methods: [] }],
  ['spec.methods', 'Function', { ...fn, methods: ['GET', 'GET'] }],
  ['spec.methods', 'Function', { ...fn, methods: ['get'] }],
  ['spec.methods', 'Function', { ...fn, methods: 'GET' }],
  ['spec.keyGroups', 'Function', { ...fn, keyGroups: [] }],
  ['spec.keyGroups[0]', 'Function', { ...fn, keyGroups: ['Not a name'] }],
  ['spec.cors.origins', 'Function', { ...fn, cors: { origins: [] } }],
  ['spec.cors.origins', 'Function', { ...fn, cors: {} }],
  ['spec.cors.origins[0]', 'Function', { ...fn, cors: { origins: ['https://a.example/path'] } }],
  ['spec.cors.origins[0]', 'Function', { ...fn, cors: { origins: ['https://a\u00a0b'] } }],
  ['spec.cors.origins[0]', 'Function', { ...fn, cors: { origins: ['a.example'] } }],
  ['spec.cors.credentials', 'Function', { ...fn, cors: { origins: ['https://a.example', '*'], credentials: true } }],
  ['spec.cors.maxAge', 'Function', { ...fn, cors: { ...cors, maxAge: 86_401 } }],
  ['spec.cors.allowHeaders[0]', 'Function', { ...fn, cors: { ...cors, allowHeaders: ['a\r\nb'] } }],
  ['spec.cors.exposeHeaders[0]', 'Function', { ...fn, cors: { ...cors, exposeHeaders: [''] } }],
  ['spec.displayName', 'Function', { ...fn, displayName: ' \t\u00a0' }],
  ['spec.displayName', 'Function', { ...fn, displayName: '💾'.repeat(65) }],
  ['spec.displayName', 'Function', { ...fn, displayName: '' }],
  ['spec.description', 'Function', { ...fn, description: 'x'.repeat(1025) }],
  ['spec.timeoutSeconds', 'Function', { ...fn, timeoutSeconds: 0 }],
  ['spec.timeoutSeconds', 'Function', { ...fn, timeoutSeconds: 1.5 }],
  ['spec.timeoutSeconds', 'Function', { ...fn, timeoutSeconds: '30' }],
  ['spec.maxRequestBytes', 'Function', { ...fn, maxRequestBytes: 1_073_741_825 }],
  ['spec.maxConcurrency', 'Function', { ...fn, maxConcurrency: 0 }],
  ['spec.scaling.maxReplicas', 'Function', { ...fn, scaling: { minReplicas: 2 } }],
  ['spec.scaling.maxReplicas', 'Function', { ...fn, scaling: { maxReplicas: 101 } }],
  ['spec.scaling.replicas', 'Function', { ...fn, scaling: { replicas: 1 } }],
  ['spec.resources.memoryMiB', 'Function', { ...fn, resources: { memoryMiB: 63 } }],
  ['spec.revision', 'Function', { ...fn, revision: 'latest' }],
  ['spec.type', 'CodeSource', {}],
  ['spec.displayName', 'CodeSource', { type: 'manual', displayName: 'code' }],
  ['spec.displayName', 'CodeSource', { type: 'manual', displayName: 'a/b' }],
  ['spec.git', 'CodeSource', { type: 'manual', git: git.git }],
  ['spec.git', 'CodeSource', { type: 'git' }],
  ['spec.git.commit', 'CodeSource', { ...git, git: { ...git.git, commit: 'main' } }],
  ['spec.git.authToken', 'CodeSource', { ...git, git: { ...git.git, authToken: 'plain' } }],
  ['spec.git.authToken', 'CodeSource', { ...git, git: { ...git.git, authToken: {} } }],
  ['spec.sync.webhook.secret', 'CodeSource', { ...git, sync: { webhook: { secret: {} } } }],
  ['spec.manual.tree', 'CodeSource', { type: 'manual', manual: { tree: 'A'.repeat(64) } }],
  ['spec.displayName', 'KeyGroup', { displayName: 'Partners' }],
  ['spec.keyGroup', 'ApiKey', { value: sealed }],
  ['spec.value', 'ApiKey', { keyGroup: 'partners' }],
  ['spec.value', 'ApiKey', { ...key, value: 'plain' }],
  ['spec.value', 'ApiKey', { ...key, value: {} }],
  ['spec.value', 'ApiKey', { ...key, value: { ...sealed, secretKeyRef: { name: 'a', key: 'b' } } }],
  ['spec.value.plaintext', 'ApiKey', { ...key, value: { ...sealed, plaintext: 'plain' } }],
  ['spec.value.secretKeyRef.name', 'ApiKey', { ...key, value: { secretKeyRef: { name: 'A', key: 'b' } } }],
  ...['tomorrow', '2030-02-30T00:00:00Z', '2030-01-01', '2030-01-01T00:00:00', '2030-01-01T24:00:00Z', '2030-01-01T00:00Z']
    .map((expiresAt): [string, ...Sample] => ['spec.expiresAt', 'ApiKey', { ...key, expiresAt }]),
  ['spec.name', 'FunctionSecret', { ...secret, name: 'A B' }],
  ['spec.function', 'FunctionSecret', { ...secret, scope: 'function' }],
  ['spec.function', 'FunctionSecret', { ...secret, function: 'a' }],
  ['spec.keyGroup', 'FunctionSecret', { ...secret, scope: 'group' }],
  ['spec.keyGroup', 'FunctionSecret', { ...secret, keyGroup: 'partners' }],
  ['spec.apiKey', 'FunctionSecret', { ...secret, scope: 'key' }],
  ['spec.apiKey', 'FunctionSecret', { ...secret, scope: 'group', keyGroup: 'partners', apiKey: 'a' }],
  ['spec.value', 'FunctionSecret', { name: 'TOKEN', scope: 'global' }],
  ...(
    [
      ['colour', 'blue'], ['log.level', 1], ['log.level', 'loud'], ['server.name', ''], ['server.name', 'x'.repeat(65)], ['api.access-groups', 'a;b'],
      ['log.trimming.interval-seconds', '0'], ['log.trimming.max-per-function', '99'], ['log.trimming.retention-seconds', '-1'],
      ['log.batching.max-batch-size', '501'], ['log.batching.max-delay-ms', '9'], ['metrics.aggregation-interval-seconds', '61'],
      ['metrics.retention-days', 'x'], ['audit.retention-days', '3651'], ['encryption.key-rotation.interval-days', '366'], ['encryption.key-rotation.check-interval-seconds', '1'],
      ['encryption.key-rotation.batch-size', '5'], ['encryption.key-rotation.batch-sleep-ms', '5001'], ['files.max-size-bytes', '1e4'],
    ] as const
  ).map(([name, value]): [string, ...Sample] => [`spec.values.${name}`, ...setting(name, value), 'wherry']),
];
