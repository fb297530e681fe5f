import { everything, render, SYSTEM, type Rendered } from './helm.ts';

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs: string[];
}

const variants: [string, string[], string][] = [
  ['by default', [], 'wherry-functions'],
  ['with everything on', ['-f', everything], 'hooks-functions'],
];

const rulesOf = (role: Rendered): Rule[] => role.rules as Rule[];
const isRbac = ({ apiVersion }: Rendered): boolean => apiVersion.startsWith('rbac.authorization.k8s.io/');

describe.each(variants)('K1: the rights that the chart gives %s', (_what, args, functions) => {
  let objects: Rendered[];
  let roles: Rendered[];

  beforeAll(async () => {
    objects = await render(...args);
    roles = objects.filter(({ kind }) => kind === 'Role');
  });

  it('end at two namespaces: nothing of it is for the whole cluster', () => {
    expect(
      objects
        .filter(isRbac)
        .map(({ kind }) => kind)
        .filter((kind) => !['Role', 'RoleBinding'].includes(kind)),
    ).toEqual([]);
    expect(new Set(objects.filter(isRbac).map(({ metadata }) => metadata.namespace))).toEqual(
      new Set([SYSTEM, functions]),
    );
    expect(roles.length).toBeGreaterThanOrEqual(3);
  });

  it('have no wildcard', () => {
    for (const role of roles) {
      for (const rule of rulesOf(role)) {
        expect(rule.nonResourceURLs).toBeUndefined();
        expect(
          [...rule.verbs, ...(rule.resources ?? []), ...(rule.apiGroups ?? []), ...(rule.resourceNames ?? [])].join(
            ' ',
          ),
        ).not.toContain('*');
      }
    }
  });

  it('lead to no others: no escalate, bind, impersonate, no roles, no tokens', () => {
    const verbs = roles.flatMap(rulesOf).flatMap((rule) => rule.verbs);
    expect(
      verbs.filter((verb) => ['escalate', 'bind', 'impersonate', 'deletecollection', 'approve', 'sign'].includes(verb)),
    ).toEqual([]);
    const resources = roles.flatMap(rulesOf).flatMap((rule) => rule.resources ?? []);
    expect(
      resources.filter((resource) =>
        /^(roles|rolebindings|clusterroles|clusterrolebindings|serviceaccounts(\/token)?|certificatesigningrequests.*)$/.test(
          resource,
        ),
      ),
    ).toEqual([]);
  });

  it('open no pod: neither exec nor attach nor port-forward nor proxy, and none is written', () => {
    const pods = roles
      .flatMap(rulesOf)
      .filter((rule) => rule.resources?.some((resource) => resource.startsWith('pods')));
    expect(pods.flatMap((rule) => rule.resources)).toEqual(['pods']);
    expect(pods.flatMap((rule) => rule.verbs)).toEqual(['get', 'list', 'watch']);
  });

  it("in the system's namespace, open the operator's own Secrets alone, each by its name", () => {
    const secrets = roles
      .filter(({ metadata }) => metadata.namespace === SYSTEM)
      .flatMap(rulesOf)
      .filter((rule) => rule.resources?.includes('secrets'));
    expect(secrets.length).toBeGreaterThan(0);
    for (const { resourceNames, verbs } of secrets) {
      if (resourceNames === undefined) expect(verbs).toEqual(['create']);
      else if (verbs.includes('watch')) expect(resourceNames).toEqual([expect.stringMatching(/-encryption-keys$/)]);
      else expect(verbs.filter((verb) => !['get', 'update', 'patch'].includes(verb))).toEqual([]);
    }
  });

  it('are given to operator and manager, and to nobody else', () => {
    const prefix = args.length === 0 ? 'wherry' : 'hooks';
    const subjects = objects
      .filter(({ kind }) => kind === 'RoleBinding')
      .flatMap((binding) => binding.subjects as { kind: string; name: string; namespace: string }[]);
    for (const { kind, name, namespace } of subjects) {
      expect({ kind, namespace }).toEqual({ kind: 'ServiceAccount', namespace: SYSTEM });
      expect([`${prefix}-operator`, `${prefix}-manager`]).toContain(name);
    }
  });

  it("of statuses are the operator's alone, of specs the manager's", () => {
    const writes = (role: string): string[] =>
      roles
        .filter(({ metadata }) => metadata.namespace === functions && metadata.name.endsWith(role))
        .flatMap(rulesOf)
        .filter((rule) => rule.apiGroups?.includes('wherry.dev') && rule.verbs.includes('update'))
        .flatMap((rule) => rule.resources ?? []);
    expect(writes('-operator').filter((resource) => !resource.endsWith('/status'))).toEqual([]);
    expect(writes('-operator')).toHaveLength(6);
    expect(writes('-manager').filter((resource) => resource.includes('/'))).toEqual([]);
  });
});
