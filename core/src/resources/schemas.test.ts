import { KINDS, type Kind } from './kinds.ts';

const function_ = { handler: 'api/hello.ts', route: '/hello', methods: ['GET'] };
const envelope = { encrypted: 'wherry1.AAAA' };
const git = { type: 'git', git: { url: 'https://example.org/a.git' } };
const key = { keyGroup: 'partners', value: envelope };
const secret = { name: 'TOKEN', scope: 'global', value: envelope };

function problems(kind: Kind, spec: unknown): string[] {
  const result = KINDS[kind].spec.safeParse(spec);
  return result.success ? [] : result.error.issues.map(({ path }) => path.join('.'));
}

describe('the schemas of specs', () => {
  it('give a function its defaults', () => {
    expect(KINDS.Function.spec.parse(function_)).toEqual({
      ...function_,
      enabled: true,
      timeoutSeconds: 30,
      maxRequestBytes: 10_485_760,
      maxConcurrency: null,
      scaling: { minReplicas: 1, maxReplicas: 1, targetConcurrency: 50, idleSeconds: 300 },
      resources: { memoryMiB: 128, cpuMillis: null },
      debug: false,
    });
    expect(KINDS.Function.spec.parse({ ...function_, cors: { origins: ['*'] } }).cors).toEqual({
      origins: ['*'],
      maxAge: 86_400,
    });
  });

  it.each<[Kind, unknown]>([
    ['Function', { ...function_, route: '/', methods: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'] }],
    [
      'Function',
      {
        ...function_,
        keyGroups: ['a', 'b'],
        timeoutSeconds: 3600,
        maxRequestBytes: 0,
        maxConcurrency: 10_000,
        displayName: 'Ä 💾',
      },
    ],
    [
      'Function',
      {
        ...function_,
        cors: { origins: ['https://a.example:8443', 'http://localhost:3000'], credentials: true, maxAge: 0 },
      },
    ],
    ['Function', { ...function_, scaling: { minReplicas: 2, maxReplicas: 2 }, handler: 'My_src-1/a/b c.mts' }],
    ['CodeSource', { type: 'manual' }],
    ['CodeSource', { type: 'manual', manual: { tree: 'a'.repeat(64) }, displayName: 'My_source-1' }],
    ['CodeSource', { ...git, sync: { intervalSeconds: 0, webhook: { enabled: true, secret: envelope } } }],
    ['KeyGroup', {}],
    ['KeyGroup', { displayName: 'partners_1', description: '' }],
    ['ApiKey', { ...key, displayName: 'acme', enabled: false, expiresAt: '2030-01-01T00:00:00+01:00' }],
    ['ApiKey', { ...key, value: { secretKeyRef: { name: 'keys', key: 'acme' } } }],
    ['FunctionSecret', secret],
    ['FunctionSecret', { ...secret, scope: 'function', function: 'hello-abc' }],
    ['FunctionSecret', { ...secret, scope: 'group', keyGroup: 'partners' }],
    ['FunctionSecret', { ...secret, scope: 'key', apiKey: 'partners-acme' }],
    ['Settings', {}],
    ['Settings', { values: { 'log.level': 'info' } }],
  ])('take a %s %j', (kind, spec) => {
    expect(problems(kind, spec)).toEqual([]);
  });

  it.each<[Kind, string, unknown]>([
    ['Function', 'handler', { ...function_, handler: 'hello.ts' }],
    ['Function', 'handler', { ...function_, handler: 'api/../hello.ts' }],
    ['Function', 'handler', { ...function_, handler: 'api//hello.ts' }],
    ['Function', 'handler', { ...function_, handler: '-api/hello.ts' }],
    ['Function', 'handler', { ...function_, handler: 'api/a\\b.ts' }],
    ['Function', 'route', { ...function_, route: 'hello' }],
    ['Function', 'methods', { ...function_, methods: [] }],
    ['Function', 'methods', { ...function_, methods: ['GET', 'GET'] }],
    ['Function', 'methods.0', { ...function_, methods: ['get'] }],
    ['Function', 'methods.0', { ...function_, methods: ['TRACE'] }],
    ['Function', 'keyGroups', { ...function_, keyGroups: [] }],
    ['Function', 'keyGroups.0', { ...function_, keyGroups: ['Not a name'] }],
    ['Function', 'cors.origins', { ...function_, cors: { origins: [] } }],
    ['Function', 'cors.origins.0', { ...function_, cors: { origins: ['https://a.example/path'] } }],
    ['Function', 'cors.origins.0', { ...function_, cors: { origins: ['a.example'] } }],
    ['Function', 'cors.credentials', { ...function_, cors: { origins: ['*'], credentials: true } }],
    [
      'Function',
      'cors.credentials',
      { ...function_, cors: { origins: ['https://a.example', '*'], credentials: true } },
    ],
    ['Function', 'cors.maxAge', { ...function_, cors: { origins: ['*'], maxAge: 86_401 } }],
    ['Function', 'cors.allowHeaders.0', { ...function_, cors: { origins: ['*'], allowHeaders: ['a\r\nb'] } }],
    ['Function', 'displayName', { ...function_, displayName: ' \t' }],
    ['Function', 'displayName', { ...function_, displayName: 'x'.repeat(65) }],
    ['Function', 'timeoutSeconds', { ...function_, timeoutSeconds: 0 }],
    ['Function', 'timeoutSeconds', { ...function_, timeoutSeconds: 1.5 }],
    ['Function', 'maxRequestBytes', { ...function_, maxRequestBytes: 1_073_741_825 }],
    ['Function', 'maxConcurrency', { ...function_, maxConcurrency: 0 }],
    ['Function', 'scaling.maxReplicas', { ...function_, scaling: { minReplicas: 2 } }],
    ['Function', 'resources.memoryMiB', { ...function_, resources: { memoryMiB: 63 } }],
    ['Function', 'revision', { ...function_, revision: 'latest' }],
    ['CodeSource', 'displayName', { type: 'manual', displayName: 'code' }],
    ['CodeSource', 'displayName', { type: 'manual', displayName: 'a/b' }],
    ['CodeSource', 'git', { type: 'manual', git: git.git }],
    ['CodeSource', 'git', { type: 'git' }],
    ['CodeSource', 'git.commit', { ...git, git: { ...git.git, commit: 'main' } }],
    ['CodeSource', 'git.authToken', { ...git, git: { ...git.git, authToken: 'plain' } }],
    ['CodeSource', 'manual.tree', { type: 'manual', manual: { tree: 'A'.repeat(64) } }],
    ['KeyGroup', 'displayName', { displayName: 'Partners' }],
    ['ApiKey', 'keyGroup', { value: envelope }],
    ['ApiKey', 'value', { keyGroup: 'partners' }],
    ['ApiKey', 'value', { ...key, value: 'plain' }],
    ['ApiKey', 'value', { ...key, value: {} }],
    ['ApiKey', 'value', { ...key, value: { ...envelope, secretKeyRef: { name: 'a', key: 'b' } } }],
    ['ApiKey', 'value', { ...key, value: { plaintext: 'plain' } }],
    ['ApiKey', 'expiresAt', { ...key, expiresAt: 'tomorrow' }],
    ['FunctionSecret', 'name', { ...secret, name: 'A B' }],
    ['FunctionSecret', 'function', { ...secret, scope: 'function' }],
    ['FunctionSecret', 'keyGroup', { ...secret, keyGroup: 'partners' }],
    ['FunctionSecret', 'apiKey', { ...secret, scope: 'group', keyGroup: 'partners', apiKey: 'a' }],
    ['FunctionSecret', 'value', { ...secret, value: undefined }],
    ['Settings', 'values.log.level', { values: { 'log.level': 1 } }],
  ])('refuse a %s and name %s', (kind, field, spec) => {
    expect(problems(kind, spec)).toContain(field);
  });

  it.each(Object.keys(KINDS) as Kind[])('of %s are closed', (kind) => {
    const good = {
      Function: function_,
      CodeSource: { type: 'manual' },
      KeyGroup: {},
      ApiKey: key,
      FunctionSecret: secret,
      Settings: {},
    }[kind];
    expect(problems(kind, good)).toEqual([]);
    expect(problems(kind, { ...good, podSpec: {} })).not.toEqual([]);
    expect(KINDS[kind].status.safeParse({}).success).toBe(true);
    expect(KINDS[kind].status.safeParse({ surprise: 1 }).success).toBe(false);
  });
});
