import { testCluster } from '../cluster/test-cluster.ts';
import { evaluateIn, podsOf, programPod } from '../testing/cluster-pods.ts';

/*
 * K1: what each program's ServiceAccount may do, as a real API server decides it, and above all what it may not.
 */

const cluster = testCluster();
const FUNCTIONS = 'wherry-functions';
const SYSTEM = 'wherry-system';
const OPERATOR = `system:serviceaccount:${SYSTEM}:wherry-operator`;
const MANAGER = `system:serviceaccount:${SYSTEM}:wherry-manager`;
const ROUTER = `system:serviceaccount:${SYSTEM}:wherry-router`;
const FUNCTION = `system:serviceaccount:${FUNCTIONS}:wherry-function`;

/** `verb group/resource[/subresource] [name]`; the core's group is left out. */
type Right = string;

const SECRETS = [
  'encryption-keys',
  'digest-key',
  'feed-keys',
  'management-key',
  'setup-token',
  'internal-ca',
  'operator-tls',
  'router-tls',
  'manager-tls',
];
const KINDS = ['functions', 'codesources', 'keygroups', 'apikeys', 'functionsecrets', 'settings'].map(
  (kind) => `wherry.dev/${kind}`,
);
const each = (verbs: string, resources: string[]): Right[] =>
  resources.flatMap((resource) => verbs.split(' ').map((verb) => `${verb} ${resource}`));

/** Ways to more rights, or into what is not theirs; of nobody here, in any namespace. */
const FORBIDDEN: Right[] = [
  ...each('create', [
    'pods',
    'pods/exec',
    'pods/attach',
    'pods/portforward',
    'pods/ephemeralcontainers',
    'serviceaccounts/token',
    'apps/daemonsets',
    'batch/jobs',
    'batch/cronjobs',
  ]),
  ...each('create update patch delete escalate bind', [
    'rbac.authorization.k8s.io/roles',
    'rbac.authorization.k8s.io/rolebindings',
  ]),
  ...each('create update patch delete', [
    'serviceaccounts',
    'namespaces',
    'nodes',
    'persistentvolumes',
    'persistentvolumeclaims',
    'apiextensions.k8s.io/customresourcedefinitions',
  ]),
  ...each('create update patch delete escalate bind', [
    'rbac.authorization.k8s.io/clusterroles',
    'rbac.authorization.k8s.io/clusterrolebindings',
  ]),
  ...each('create update', [
    'admissionregistration.k8s.io/validatingwebhookconfigurations',
    'admissionregistration.k8s.io/mutatingwebhookconfigurations',
  ]),
  ...each('impersonate', ['users', 'groups', 'serviceaccounts']),
  ...each('get', ['nodes/proxy', 'nodes/log', 'pods/log', 'pods/proxy', 'services/proxy']),
  ...each('deletecollection', ['secrets', ...KINDS]),
  ...each('*', ['*', 'secrets', 'pods', '*/*']),
];

/** Of the rights, those that the API server grants. `namespace` undefined: in the whole cluster. */
async function granted(
  user: string,
  namespace: string | undefined,
  rights: readonly Right[],
  moreGroups: string[] = [],
): Promise<Right[]> {
  const items = rights.map((right) => {
    const [verb, what = '', name] = right.split(' ');
    const parts = what.split('/');
    // The first part is a group where it is one's name; `*` stands for all of them.
    const group = what === '*/*' ? '*' : /\.|^(?:apps|batch|policy)$/.test(parts[0] ?? '') ? parts.shift() : '';
    const [resource, subresource] = what === '*/*' ? ['*'] : parts;
    const resourceAttributes = { verb, group, resource, subresource, name, namespace };
    return {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user,
        groups: [
          'system:serviceaccounts',
          `system:serviceaccounts:${user.split(':')[2]}`,
          'system:authenticated',
          ...moreGroups,
        ],
        resourceAttributes,
      },
    };
  });
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const answers = (await cluster.kubectl(['create', '-f', '-', '-o', 'jsonpath={.status.allowed}{"\\n"}'], { input }))
    .trim()
    .split('\n');
  expect(answers).toHaveLength(rights.length);
  return rights.filter((_, at) => answers[at] === 'true');
}

describe('K1: what the operator may', () => {
  const among = [
    ...each('get list watch', [
      ...KINDS,
      'apps/deployments',
      'services',
      'policy/poddisruptionbudgets',
      'secrets',
      'pods',
      'discovery.k8s.io/endpointslices',
    ]),
    ...each(
      'get update',
      KINDS.map((kind) => `${kind}/status`),
    ),
    ...each('create patch delete', ['apps/deployments', 'services', 'policy/poddisruptionbudgets', 'secrets']),
    ...each('list watch create patch', ['events']),
    'delete wherry.dev/functionsecrets',
    'create configmaps',
    'get configmaps wherry-feed-ca',
    'update configmaps wherry-feed-ca',
  ];
  const beside = [
    'create coordination.k8s.io/leases',
    'get coordination.k8s.io/leases wherry-operator',
    'update coordination.k8s.io/leases wherry-operator',
    'create secrets',
    ...SECRETS.flatMap((name) => [`get secrets wherry-${name}`, `update secrets wherry-${name}`]),
  ];

  it('is its work', async () => {
    expect(await granted(OPERATOR, FUNCTIONS, among)).toEqual(among);
    expect(await granted(OPERATOR, SYSTEM, beside)).toEqual(beside);
  });

  it('is no writing of specs, no other Secret of the system, and nothing outside of the two namespaces', async () => {
    const others = [
      ...each('create update patch', KINDS),
      ...each(
        'delete',
        KINDS.filter((kind) => !kind.endsWith('functionsecrets')),
      ),
      ...each('list watch update delete', ['configmaps']),
      'get configmaps other',
      'delete pods',
      ...each('get list watch create update patch delete', ['networking.k8s.io/networkpolicies']),
      'update secrets',
      'delete events',
    ];
    expect(await granted(OPERATOR, FUNCTIONS, others)).toEqual([]);
    const other = [
      ...each('list watch delete patch', ['secrets']),
      'get secrets other',
      'update secrets other',
      ...each('get list create update patch delete', ['apps/deployments', 'configmaps', 'pods']),
      ...each('list delete', ['coordination.k8s.io/leases']),
      'update coordination.k8s.io/leases other',
      ...each('create patch', ['services', 'networking.k8s.io/networkpolicies']),
    ];
    expect(await granted(OPERATOR, SYSTEM, other)).toEqual([]);
    for (const namespace of ['default', 'kube-system', undefined])
      expect(await granted(OPERATOR, namespace, [...among, ...beside])).toEqual([]);
  });
});

describe('K1: what the manager may', () => {
  const among = [...each('get list watch create update delete', KINDS), ...each('get list watch', ['secrets'])];

  const beside = [
    'get secrets wherry-encryption-keys',
    'update secrets wherry-encryption-keys',
    'create coordination.k8s.io/leases',
    'get coordination.k8s.io/leases wherry-manager',
    'update coordination.k8s.io/leases wherry-manager',
  ];

  it('is the objects of its API, to read the Secrets that they name, and to rotate the encryption keys', async () => {
    expect(await granted(MANAGER, FUNCTIONS, among)).toEqual(among);
    expect(await granted(MANAGER, SYSTEM, beside)).toEqual(beside);
  });

  it('is no status, no workload, no writing of Secrets, and nothing beside its own pod or elsewhere', async () => {
    const others = [
      ...each(
        'update patch',
        KINDS.map((kind) => `${kind}/status`),
      ),
      ...each('create update patch delete', [
        'secrets',
        'apps/deployments',
        'services',
        'configmaps',
        'networking.k8s.io/networkpolicies',
      ]),
      ...each('get list', ['pods', 'configmaps', 'apps/deployments']),
    ];
    expect(await granted(MANAGER, FUNCTIONS, others)).toEqual([]);
    const keys = SECRETS.filter((name) => name !== 'encryption-keys').map((name) => `get secrets wherry-${name}`);
    const lease = 'update coordination.k8s.io/leases wherry-operator';
    expect(await granted(MANAGER, SYSTEM, [...among, ...others, ...keys, lease])).toEqual([]);
    for (const namespace of ['default', 'kube-system', undefined])
      expect(await granted(MANAGER, namespace, among)).toEqual([]);
  });
});

describe('K1: nobody', () => {
  it.each([[OPERATOR], [MANAGER], [ROUTER], [FUNCTION]])('%s has a way to more rights', async (user) => {
    for (const namespace of [SYSTEM, FUNCTIONS, 'kube-system', undefined])
      expect([namespace, await granted(user, namespace, FORBIDDEN)]).toEqual([namespace, []]);
  });

  it('answers nothing: an administrator is granted all of it', async () => {
    expect(await granted(OPERATOR, undefined, FORBIDDEN, ['system:masters'])).toEqual(FORBIDDEN);
  });

  it.each([[ROUTER], [FUNCTION]])('%s may anything at all, beyond what everybody may', async (user) => {
    for (const namespace of [SYSTEM, FUNCTIONS]) {
      const text = await cluster.kubectl(['auth', 'can-i', '--list', `--as=${user}`, '-n', namespace, '--no-headers']);
      const rights = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith(' '));
      expect(rights.map((line) => line.split(/\s+/)[0]).sort()).toEqual([
        'selfsubjectaccessreviews.authorization.k8s.io',
        'selfsubjectreviews.authentication.k8s.io',
        'selfsubjectrulesreviews.authorization.k8s.io',
      ]);
    }
  });
});

describe('K1: tokens', () => {
  const LOOK = `
    const { readdirSync } = require('node:fs');
    let found = [];
    try { found = readdirSync('/var/run/secrets/kubernetes.io/serviceaccount').filter((name) => !name.startsWith('.')); } catch (error) { found = error.code; }
    console.log(JSON.stringify(found));`;

  it.each([
    ['router', 'router'],
    ['operator', 'builder'],
    ['operator', 'installer'],
  ])('the pod of the %s has none in the container %s', async (component, container) => {
    const { metadata } = await programPod(cluster, component);
    expect(await evaluateIn(cluster, { namespace: SYSTEM, pod: metadata.name, container }, LOOK)).toBe('ENOENT');
  });

  it.each([['operator'], ['manager']])('the %s has one that expires', async (component) => {
    const { metadata } = await programPod(cluster, component);
    expect(await evaluateIn(cluster, { namespace: SYSTEM, pod: metadata.name, container: component }, LOOK)).toEqual(
      expect.arrayContaining(['token']),
    );
  });

  it('no pod gets one but those two', async () => {
    const pods = [...(await podsOf(cluster, SYSTEM)), ...(await podsOf(cluster, FUNCTIONS))];
    const having = pods.filter(({ spec }) => JSON.stringify(spec.volumes ?? []).includes('serviceAccountToken'));
    expect(new Set(having.map(({ metadata }) => metadata.labels['app.kubernetes.io/component']))).toEqual(
      new Set(['operator', 'manager']),
    );
  });
});
