import type { NetworkPolicy, PolicyRule, PolicyWorld } from './network-policy.ts';
import { selects, translatePolicies } from './translate-policies.ts';

const pod = (
  namespace: string,
  name: string,
  address: string,
  labels: Record<string, string> = { app: name },
): PolicyWorld['pods'][0] => ({ namespace, name, address, labels });

const PODS = [
  pod('a', 'web', '10.0.0.1'),
  pod('a', 'db', '10.0.0.2'),
  pod('b', 'web', '10.0.0.3'),
  pod('b', 'job', '10.0.0.4', { app: 'job', tier: 'back' }),
];

function policy(spec: Partial<NetworkPolicy['spec']>): NetworkPolicy {
  return {
    metadata: { namespace: 'a', name: 'p' },
    spec: { podSelector: { matchLabels: { app: 'db' } }, policyTypes: ['Ingress'], ...spec },
  };
}

/** The lines of a chain. */
function chain(name: string, ...policies: NetworkPolicy[]): string[] | undefined {
  const text = translatePolicies({ policies, pods: PODS, namespaces: { a: { team: 'red' }, b: { team: 'blue' } } });
  return new RegExp(`chain ${name} \\{\n([^}]*(?:\\{[^}]*\\}[^}]*)*?)\n  \\}`)
    .exec(text)?.[1]
    ?.split('\n')
    .map((line) => line.trim());
}

/** What passes on its way to `db`, by rules of the way in. */
const passes = (...ingress: PolicyRule[]): string[] => chain('ingress_10_0_0_2', policy({ ingress }))!.slice(1, -1);

describe('a selector', () => {
  it.each([
    [{}, true],
    [{ matchLabels: { app: 'job' } }, true],
    [{ matchLabels: { app: 'job', tier: 'front' } }, false],
    [{ matchExpressions: [{ key: 'tier', operator: 'In', values: ['back', 'front'] }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['back'] }] }, false],
    [{ matchExpressions: [{ key: 'none', operator: 'NotIn', values: ['back'] }] }, true],
    [{ matchExpressions: [{ key: 'none', operator: 'In', values: [''] }] }, false],
    [{ matchExpressions: [{ key: 'tier', operator: 'Exists' }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] }, false],
    [{ matchLabels: { app: 'job' }, matchExpressions: [{ key: 'none', operator: 'Exists' }] }, false],
  ])('%j: %s', (selector, is) => {
    expect(selects(selector, { app: 'job', tier: 'back' })).toBe(is);
  });

  it('refuses an operator that there is not', () => {
    expect(() => selects({ matchExpressions: [{ key: 'a', operator: 'Gt' }] }, {})).toThrow('the operator Gt');
  });
});

describe('the rules of policies', () => {
  it('close a selected pod in the directions that the policy is about, and no other pod', () => {
    const closed = ['# a/db', 'drop'];
    expect(chain('ingress_10_0_0_2', policy({}))).toEqual(closed);
    expect(chain('egress_10_0_0_2', policy({}))).toBeUndefined();
    expect(chain('egress_10_0_0_2', policy({ policyTypes: ['Ingress', 'Egress'] }))).toEqual(closed);
    expect(chain('ingress', policy({}))).toEqual(['ip daddr 10.0.0.2 jump ingress_10_0_0_2']);
    expect(chain('ingress', policy({ podSelector: {} }))).toHaveLength(2);
    expect(chain('egress', policy({ policyTypes: ['Egress'] }))).toEqual(['ip saddr 10.0.0.2 jump egress_10_0_0_2']);
  });

  it('let pass what any of several policies allows', () => {
    const one = policy({ ingress: [{ ports: [{ port: 1 }] }] });
    const two = policy({ ingress: [{ ports: [{ port: 2, protocol: 'UDP' }] }] });
    expect(
      chain('ingress_10_0_0_2', one, two, policy({ podSelector: { matchLabels: { app: 'web' } } }))?.slice(1, -1),
    ).toEqual(['tcp dport 1 return', 'udp dport 2 return']);
  });

  it.each([
    ['everything', {}, ['return']],
    [
      'pods of its own namespace',
      { from: [{ podSelector: { matchLabels: { app: 'web' } } }] },
      ['ip saddr { 10.0.0.1 } return'],
    ],
    [
      'whole namespaces',
      { from: [{ namespaceSelector: { matchLabels: { team: 'blue' } } }] },
      ['ip saddr { 10.0.0.3, 10.0.0.4 } return'],
    ],
    [
      'certain pods of certain namespaces',
      {
        from: [{ namespaceSelector: { matchLabels: { team: 'blue' } }, podSelector: { matchLabels: { app: 'web' } } }],
      },
      ['ip saddr { 10.0.0.3 } return'],
    ],
    [
      'all pods of all namespaces',
      { from: [{ namespaceSelector: {} }] },
      ['ip saddr { 10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4 } return'],
    ],
    ['nobody, where nobody is selected', { from: [{ podSelector: { matchLabels: { app: 'gone' } } }] }, []],
    [
      'networks but for parts of them',
      { from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16', '10.2.0.0/16'] } }] },
      ['ip saddr 10.0.0.0/8 ip saddr != { 10.1.0.0/16, 10.2.0.0/16 } return'],
    ],
    ['no network of IPv6', { from: [{ ipBlock: { cidr: '::/0' } }] }, []],
    ['a range of ports', { ports: [{ port: 1000, endPort: 2000 }] }, ['tcp dport 1000-2000 return']],
    ['a whole protocol', { ports: [{ protocol: 'UDP' }] }, ['meta l4proto udp return']],
    [
      'each peer on each port',
      {
        from: [{ podSelector: { matchLabels: { app: 'web' } } }, { ipBlock: { cidr: '1.2.3.4/32' } }],
        ports: [{ port: 1 }, { port: 2 }],
      },
      [
        'ip saddr { 10.0.0.1 } tcp dport 1 return',
        'ip saddr { 10.0.0.1 } tcp dport 2 return',
        'ip saddr 1.2.3.4/32 tcp dport 1 return',
        'ip saddr 1.2.3.4/32 tcp dport 2 return',
      ],
    ],
  ])('let in %s', (_what, rule: PolicyRule, expected) => {
    expect(passes(rule)).toEqual(expected);
  });

  it('let out by where it goes', () => {
    const egress = [{ to: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ port: 1 }] }];
    expect(chain('egress_10_0_0_2', policy({ policyTypes: ['Egress'], egress }))?.slice(1, -1)).toEqual([
      'ip daddr { 10.0.0.1 } tcp dport 1 return',
    ]);
  });

  it('are not made of what is not translated', () => {
    expect(() => passes({ ports: [{ port: 'http' }] })).toThrow('the port http is a name');
  });
});
