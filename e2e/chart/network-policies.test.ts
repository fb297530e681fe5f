import { everything, render, type Rendered } from './helm.ts';

interface Peer { podSelector?: { matchLabels: Record<string, string> }; namespaceSelector?: object; ipBlock?: { cidr: string } }
interface Rule { from?: Peer[]; to?: Peer[]; ports?: { port: number; protocol: string }[] }
interface Policy { podSelector: { matchLabels: Record<string, string> }; policyTypes: string[]; ingress: Rule[]; egress: Rule[] }

const COMPONENT = 'app.kubernetes.io/component';
const FUNCTIONS = { 'app.kubernetes.io/name': 'wherry-function' };

let policies: Record<string, Policy>;

async function load(...args: string[]): Promise<Rendered[]> {
  const objects = await render(...args);
  const found = objects.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec as unknown as Policy);
  policies = Object.fromEntries(found.map((policy) => [policy.podSelector.matchLabels[COMPONENT], policy]));
  return objects;
}

/** Who may come in on a port: components, `functions`, `namespaces`, networks, or `anybody`. */
function callers(component: string, port: number): string[] {
  const rules = policies[component]!.ingress.filter(({ ports }) => ports?.some((each) => each.port === port) ?? true);
  return rules.flatMap(({ from }) => from?.map(nameOf) ?? ['anybody']).sort();
}

function nameOf(peer: Peer): string {
  if (peer.ipBlock !== undefined) return peer.ipBlock.cidr;
  if (peer.podSelector === undefined) return 'namespaces';
  return peer.podSelector.matchLabels[COMPONENT] ?? (peer.podSelector.matchLabels['app.kubernetes.io/name'] === FUNCTIONS['app.kubernetes.io/name'] ? 'functions' : '?');
}

describe('NetworkPolicies by default', () => {
  beforeAll(() => load());

  it('close every pod in both directions, but for what they name', async () => {
    const deployments = (await load()).filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.labels?.[COMPONENT]);
    expect(Object.keys(policies).sort()).toEqual(deployments.sort());
    for (const policy of Object.values(policies)) expect(policy.policyTypes).toEqual(['Ingress', 'Egress']);
  });

  it.each([
    ['router', 8000, ['anybody']],
    ['operator', 9443, ['functions', 'router']],
    ['manager', 9444, ['operator']],
    ['manager', 9000, ['namespaces']],
    ['router', 9464, ['namespaces']],
    ['operator', 9465, ['namespaces']],
  ])('let in to %s:%i %j', (component, port, who) => {
    expect(callers(component, port)).toEqual(who);
  });

  it('keep functions from the management port and from metrics', () => {
    const notFunctions = { matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['wherry-functions'] }] };
    const rules = Object.values(policies).flatMap(({ ingress }) => ingress).filter(({ ports }) => ports?.some(({ port }) => [9000, 9464, 9465].includes(port)));
    expect(rules.length).toBeGreaterThanOrEqual(4);
    for (const { from } of rules) expect(from).toEqual([{ namespaceSelector: notFunctions }]);
  });

  it('let the router out to names, feed and functions alone', () => {
    const [dns, feed, functions, ...more] = policies.router!.egress;
    expect(more).toEqual([]);
    expect(dns).toEqual({ ports: [{ port: 53, protocol: 'UDP' }, { port: 53, protocol: 'TCP' }] });
    expect([feed?.to?.map(nameOf), feed?.ports]).toEqual([['operator'], [{ port: 9443, protocol: 'TCP' }]]);
    expect(functions).toEqual({
      to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'wherry-functions' } }, podSelector: { matchLabels: FUNCTIONS } }],
      ports: [{ port: 8080, protocol: 'TCP' }],
    });
  });
});

describe('NetworkPolicies that were narrowed', () => {
  beforeAll(() => load('-f', everything));

  it('let in whom the values name', () => {
    expect(callers('manager', 9000)).toEqual(['10.20.0.0/16']);
    expect(policies.router!.ingress.at(-1)?.from).toEqual([{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }]);
  });

  it('let builds out to the registry, and the manager not', () => {
    const out = (component: string): number[] => policies[component]!.egress.filter(({ to }) => to === undefined).flatMap(({ ports }) => ports?.map(({ port }) => port) ?? []);
    expect(out('operator')).toEqual([53, 53, 6443, 4873]);
    expect(out('manager')).toEqual([53, 53, 6443]);
  });
});

it('are not made where the values say so', async () => {
  expect((await render('--set', 'networkPolicies.enabled=false')).filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([]);
});
