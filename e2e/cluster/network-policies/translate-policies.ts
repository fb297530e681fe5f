import type {
  LabelSelector,
  NetworkPolicy,
  PolicyPeer,
  PolicyPod,
  PolicyPort,
  PolicyRule,
  PolicyWorld,
} from './network-policy.ts';

export const TABLE = 'wherry_policies';

type Direction = 'Ingress' | 'Egress';

/**
 * Whether labels are selected; an empty selector selects everything.
 * @throws Error for an operator that is not Kubernetes'
 */
export function selects(selector: LabelSelector, labels: Record<string, string>): boolean {
  const wanted = Object.entries(selector.matchLabels ?? {});
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    (selector.matchExpressions ?? []).every((each) => expressed(each, labels))
  );
}

function expressed(
  { key, operator, values = [] }: { key: string; operator: string; values?: string[] },
  labels: Record<string, string>,
): boolean {
  const has = Object.hasOwn(labels, key);
  const isOneOf = has && values.includes(labels[key] ?? '');
  const meanings: Record<string, boolean> = { In: isOneOf, NotIn: !isOneOf, Exists: has, DoesNotExist: !has };
  const meaning = meanings[operator];
  if (meaning === undefined) throw new Error(`a selector has the operator ${operator}`);
  return meaning;
}

/**
 * NetworkPolicies as rules of nftables on a cluster's one node: what an agent of a network plugin would make of them. A
 * pod that a policy selects in a direction may do in it what any policy that selects it allows, and nothing else; a
 * packet must be allowed on its sender's side and on its receiver's. Services do not matter: packets to them have a
 * pod's address by then. What comes from the node itself always passes, as Kubernetes says; what goes to it, the API
 * server above all, is subject to the sender's policies. IPv4 only.
 * @returns what `nft -f -` takes; it replaces what an earlier one made
 * @throws Error for a port by name, which is not translated
 */
export function translatePolicies(world: PolicyWorld): string {
  const [egress, ingress] = [sideOf(world, 'Egress'), sideOf(world, 'Ingress')];
  const reply = 'ct state established,related accept';
  return [
    // So that it exists when it is deleted.
    `table inet ${TABLE} {}`,
    `delete table inet ${TABLE}`,
    `table inet ${TABLE} {`,
    ...egress.chains,
    ...ingress.chains,
    ...chain('egress', egress.jumps),
    ...chain('ingress', ingress.jumps),
    ...chain('forward', ['type filter hook forward priority -5; policy accept;', reply, 'jump egress', 'jump ingress']),
    ...chain('input', ['type filter hook input priority -5; policy accept;', reply, 'jump egress']),
    '}',
    '',
  ].join('\n');
}

const chain = (name: string, lines: readonly string[]): string[] => [
  `  chain ${name} {`,
  ...lines.map((line) => `    ${line}`),
  '  }',
];

/** One chain for each pod that policies select in a direction, and the jumps that lead there. */
function sideOf(world: PolicyWorld, direction: Direction): { chains: string[]; jumps: string[] } {
  const chains: string[] = [];
  const jumps: string[] = [];
  for (const pod of world.pods) {
    const policies = world.policies.filter((policy) => isolates(policy, pod, direction));
    if (policies.length === 0) continue;
    const name = `${direction.toLowerCase()}_${pod.address.replaceAll('.', '_')}`;
    const allowed = policies.flatMap((policy) =>
      rulesOf(policy, direction).flatMap((rule) => matches(world, policy, rule)),
    );
    chains.push(
      ...chain(name, [`# ${pod.namespace}/${pod.name}`, ...allowed.map((match) => `${match} return`), 'drop']),
    );
    jumps.push(`ip ${direction === 'Ingress' ? 'daddr' : 'saddr'} ${pod.address} jump ${name}`);
  }
  return { chains, jumps };
}

function isolates({ metadata, spec }: NetworkPolicy, pod: PolicyPod, direction: Direction): boolean {
  return (
    metadata.namespace === pod.namespace &&
    spec.policyTypes.includes(direction) &&
    selects(spec.podSelector, pod.labels)
  );
}

const rulesOf = ({ spec }: NetworkPolicy, direction: Direction): PolicyRule[] =>
  (direction === 'Ingress' ? spec.ingress : spec.egress) ?? [];

/**
 * The matches that let a rule's packets pass: each of its peers with each of its ports; without peers, or ports, any.
 */
function matches(world: PolicyWorld, policy: NetworkPolicy, rule: PolicyRule): string[] {
  const [field, peers] = rule.to === undefined ? ['saddr', rule.from] : ['daddr', rule.to];
  const addresses = peers?.length ? peers.flatMap((peer) => addressMatches(world, policy, peer, field)) : [''];
  const ports = rule.ports?.length ? rule.ports.map(portMatch) : [''];
  return addresses.flatMap((address) => ports.map((port) => `${address} ${port}`.trim()));
}

function addressMatches(world: PolicyWorld, policy: NetworkPolicy, peer: PolicyPeer, field: string): string[] {
  if (peer.ipBlock !== undefined) return blockMatches(peer.ipBlock, field);
  const { namespaceSelector, podSelector = {} } = peer;
  const isNear = (namespace: string): boolean =>
    namespaceSelector === undefined
      ? namespace === policy.metadata.namespace
      : selects(namespaceSelector, world.namespaces[namespace] ?? {});
  const found = world.pods.filter(({ namespace, labels }) => isNear(namespace) && selects(podSelector, labels));
  return found.length === 0 ? [] : [`ip ${field} { ${found.map(({ address }) => address).join(', ')} }`];
}

function blockMatches({ cidr, except = [] }: { cidr: string; except?: string[] }, field: string): string[] {
  if (cidr.includes(':')) return [];
  const without = except.length === 0 ? '' : ` ip ${field} != { ${except.join(', ')} }`;
  return [`ip ${field} ${cidr}${without}`];
}

function portMatch({ port, endPort, protocol = 'TCP' }: PolicyPort): string {
  const name = protocol.toLowerCase();
  if (port === undefined) return `meta l4proto ${name}`;
  if (typeof port === 'string') throw new Error(`the port ${port} is a name, which is not translated`);
  return `${name} dport ${endPort === undefined ? port : `${port}-${endPort}`}`;
}
