import { BlockList } from 'node:net';
import { everything, render, tryRender, type Rendered } from './helm.ts';

interface Peer {
  podSelector?: { matchLabels: Record<string, string> };
  namespaceSelector?: object;
  ipBlock?: { cidr: string; except?: string[] };
}
interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: { port: number; endPort?: number; protocol: string }[];
}
interface Policy {
  podSelector: { matchLabels: Record<string, string>; matchExpressions?: object[] };
  policyTypes: string[];
  ingress: Rule[];
  egress: Rule[];
}

const COMPONENT = 'app.kubernetes.io/component';
const FUNCTIONS = { 'app.kubernetes.io/name': 'wherry-function' };
const NAMESPACE = 'kubernetes.io/metadata.name';
const CLUSTER_DNS = [
  {
    namespaceSelector: { matchLabels: { [NAMESPACE]: 'kube-system' } },
    podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
  },
];

/** Those of Wherry's programs, by their components. */
let policies: Record<string, Policy>;

async function load(...args: string[]): Promise<Rendered[]> {
  const objects = await render(...args);
  const found = objects
    .filter(({ kind, metadata }) => kind === 'NetworkPolicy' && !metadata.name.endsWith('-functions'))
    .map(({ spec }) => spec as unknown as Policy);
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
  return (
    peer.podSelector.matchLabels[COMPONENT] ??
    (peer.podSelector.matchLabels['app.kubernetes.io/name'] === FUNCTIONS['app.kubernetes.io/name'] ? 'functions' : '?')
  );
}

describe('NetworkPolicies by default', () => {
  beforeAll(() => load());

  it('close every pod in both directions, but for what they name', async () => {
    const deployments = (await load())
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ metadata }) => metadata.labels?.[COMPONENT]);
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
    ['operator', 9466, ['namespaces']],
  ])('let in to %s:%i %j', (component, port, who) => {
    expect(callers(component, port)).toEqual(who);
  });

  it('keep functions from the management port and from metrics', () => {
    const notFunctions = {
      matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['wherry-functions'] }],
    };
    const rules = Object.values(policies)
      .flatMap(({ ingress }) => ingress)
      .filter(({ ports }) => ports?.some(({ port }) => [9000, 9464, 9465, 9466].includes(port)));
    expect(rules.length).toBeGreaterThanOrEqual(4);
    for (const { from } of rules) expect(from).toEqual([{ namespaceSelector: notFunctions }]);
  });

  it('let the router out to names, feed and functions alone', () => {
    const [dns, feed, functions, ...more] = policies.router!.egress;
    expect(more).toEqual([]);
    expect(dns).toEqual({
      to: CLUSTER_DNS,
      ports: [
        { port: 53, protocol: 'UDP' },
        { port: 53, protocol: 'TCP' },
      ],
    });
    expect([feed?.to?.map(nameOf), feed?.ports]).toEqual([['operator'], [{ port: 9443, protocol: 'TCP' }]]);
    expect(functions).toEqual({
      to: [
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'wherry-functions' } },
          podSelector: { matchLabels: FUNCTIONS },
        },
      ],
      ports: [{ port: 8080, protocol: 'TCP' }],
    });
  });
});

describe('NetworkPolicies that were narrowed', () => {
  beforeAll(() => load('-f', everything));

  it('let in whom the values name', () => {
    expect(callers('manager', 9000)).toEqual(['10.20.0.0/16']);
    expect(policies.router!.ingress.at(-1)?.from).toEqual([
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } },
    ]);
  });

  it('let builds out to the registry, and the manager to the OpenID Connect provider, where there is one', async () => {
    const out = (component: string): number[] =>
      policies[component]!.egress.filter(({ to }) => to === undefined).flatMap(
        ({ ports }) => ports?.map(({ port }) => port) ?? [],
      );
    expect(out('operator')).toEqual([6443, 4873]);
    expect(out('manager')).toEqual([6443, 8443]);
    await load('-f', everything, '--set', 'manager.oidc.issuer=');
    expect(out('manager')).toEqual([6443]);
  });
});

it("are not made for Wherry's programs where the values say so; that of functions always is", async () => {
  const made = (await render('--set', 'networkPolicies.enabled=false')).filter(({ kind }) => kind === 'NetworkPolicy');
  expect(made.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual([
    'wherry-functions/wherry-functions',
  ]);
});

describe('the NetworkPolicy of functions', () => {
  it('S7: is one for every pod of every function, owned by none, and stays while they do', async () => {
    const { metadata, spec } = await functionsPolicy();
    expect(spec).toMatchObject({
      podSelector: { matchExpressions: [{ key: 'wherry.dev/workload', operator: 'Exists' }] },
      policyTypes: ['Ingress', 'Egress'],
    });
    expect(metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    expect(metadata).not.toHaveProperty('ownerReferences');
  });

  it('lets routers in to calls, and functions out to names, the feed and the internet', async () => {
    const { ingress, egress } = (await functionsPolicy()).spec;
    const program = (component: string): Peer => ({
      namespaceSelector: { matchLabels: { [NAMESPACE]: 'wherry-system' } },
      podSelector: {
        matchLabels: {
          'app.kubernetes.io/name': 'wherry',
          'app.kubernetes.io/instance': 'wherry',
          [COMPONENT]: component,
        },
      },
    });
    expect(ingress).toEqual([{ from: [program('router')], ports: [{ port: 8080, protocol: 'TCP' }] }]);
    expect(egress).toHaveLength(3);
    expect(egress[0]).toEqual({
      to: CLUSTER_DNS,
      ports: [
        { port: 53, protocol: 'UDP' },
        { port: 53, protocol: 'TCP' },
      ],
    });
    expect(egress[1]).toEqual({ to: [program('operator')], ports: [{ port: 9443, protocol: 'TCP' }] });
  });

  it("S7: opens the internet on every port but those of resolvers, so that names are the cluster's DNS' alone", async () => {
    const { ports = [] } = (await functionsPolicy()).spec.egress[2]!;
    for (const protocol of ['TCP', 'UDP']) {
      const ranges = ports.filter((each) => each.protocol === protocol);
      const closed = Array.from({ length: 65_535 }, (_, at) => at + 1).filter(
        (number) => !ranges.some(({ port, endPort = port }) => port <= number && number <= endPort),
      );
      expect(closed).toEqual([53, 853]);
    }
  });

  it.each([
    '169.254.169.254',
    '169.254.170.2',
    '168.63.129.16',
    '192.0.0.192',
    '100.100.100.200',
    '198.18.0.1',
    '198.19.255.255',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fe80::a9fe:a9fe',
  ])('S7: keeps functions from %s, by NAT64 and 6to4 too, whatever the values forbid beside it', async (address) => {
    for (const args of [[], ['--set', 'functions.forbiddenNetworks={10.1.0.0/16}']]) {
      const isOpen = await reach(...args);
      expect([address, ...translated(address)].filter(isOpen)).toEqual([]);
    }
  });

  const PRIVATE = ['10.1.2.3', '172.31.0.1', '192.168.1.1', '100.64.0.1', 'fd12::1', '64:ff9b::a01:203'];

  it('keeps functions from private and shared networks, and from those that the values name beside them', async () => {
    expect(PRIVATE.filter(await reach())).toEqual([]);
    const named = ['8.8.8.8', '2001:db8::1', '64:ff9b::808:808'];
    expect(named.filter(await reach())).toEqual(named);
    const isOpen = await reach('--set', 'functions.forbiddenNetworks={8.8.8.0/24,2001:db8::/32}');
    expect([...PRIVATE, ...named].filter(isOpen)).toEqual([]);
  });

  it('opens private networks that the values allow, but for what is forbidden by name in them', async () => {
    const isOpen = await reach(
      '--set',
      'functions.allowedNetworks={10.1.0.0/16,100.64.0.0/10,fd12::/16,fd00::/8},functions.forbiddenNetworks={10.1.3.0/24,fd12:1::/32}',
    );
    expect(PRIVATE.filter(isOpen)).toEqual(['10.1.2.3', '100.64.0.1', 'fd12::1']);
    const closed = [
      '10.2.0.1',
      '10.1.3.1',
      '100.100.100.200',
      'fd12:1::1',
      'fd00:ec2::254',
      'fd20:ce::254',
      '169.254.169.254',
    ];
    expect(closed.filter(isOpen)).toEqual([]);
  });

  it.each([
    ['169.254.169.0/24', '169.254.0.0/16'],
    ['100.100.100.200/32', '100.100.100.200/32'],
    ['fd00:ec2:0:1::/64', 'fd00:ec2::/32'],
    ['10.1.3.0/25', '10.1.3.0/24'],
  ])('does not open %s, which is in %s: the chart refuses it', async (network, denied) => {
    const { code, stderr } = await tryRender(
      '--set',
      `functions.allowedNetworks={${network}},functions.forbiddenNetworks={10.1.3.0/24}`,
    );
    expect(code).not.toBe(0);
    expect(stderr).toContain(`functions.allowedNetworks: ${network} is in ${denied}, which functions may never reach`);
  });

  it('leaves them the internet of either family, and by NAT64', async () => {
    const addresses = ['1.1.1.1', '169.253.0.1', '192.0.1.1', '198.20.0.1', '2606:4700::1111', '64:ff9b::101:101'];
    expect(addresses.filter(await reach())).toEqual(addresses);
  });

  it('has names resolved where the values say', async () => {
    const [dns] = (await functionsPolicy('-f', everything)).spec.egress;
    expect(dns?.to).toEqual([
      { namespaceSelector: { matchLabels: { [NAMESPACE]: 'dns' } }, podSelector: { matchLabels: { app: 'resolver' } } },
      { ipBlock: { cidr: '169.254.20.10/32' } },
    ]);
    expect(dns?.ports?.map(({ port, protocol }) => `${protocol} ${port}`)).toEqual([
      'UDP 53',
      'TCP 53',
      'UDP 5353',
      'TCP 5353',
    ]);
  });
});

/** Rendered once for the same arguments, which takes half a second. */
const rendered = new Map<string, Promise<Rendered[]>>();

async function functionsPolicy(...args: string[]): Promise<{ metadata: Rendered['metadata']; spec: Policy }> {
  const key = args.join(' ');
  const objects = rendered.get(key) ?? render(...args);
  rendered.set(key, objects);
  const policy = (await objects).find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-functions'),
  )!;
  return { metadata: policy.metadata, spec: policy.spec as Policy };
}

/** Whether the rule of the internet opens an address; a block is about its own family alone. */
async function reach(...args: string[]): Promise<(address: string) => boolean> {
  const blocks = ((await functionsPolicy(...args)).spec.egress[2]?.to ?? []).map(({ ipBlock }) => ipBlock!);
  return (address) => {
    const isIn = (networks: readonly string[]): boolean => listOf(networks).check(address, familyOf(address));
    return blocks.some(
      ({ cidr, except = [] }) => familyOf(cidr) === familyOf(address) && isIn([cidr]) && !isIn(except),
    );
  };
}

const familyOf = (text: string): 'ipv4' | 'ipv6' => (text.includes(':') ? 'ipv6' : 'ipv4');

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), familyOf(network));
  }
  return list;
}

/** An IPv4 address as IPv6 leads to it: by both prefixes of NAT64, and by 6to4. */
function translated(address: string): string[] {
  if (familyOf(address) === 'ipv6') return [];
  const digits = address.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  const [high, low] = [digits.slice(0, 2).join(''), digits.slice(2).join('')];
  return [`64:ff9b::${high}:${low}`, `64:ff9b:1::${high}:${low}`, `2002:${high}:${low}::1`];
}
