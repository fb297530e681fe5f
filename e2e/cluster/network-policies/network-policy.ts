/** Objects of Kubernetes, as far as NetworkPolicies concern them. */

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

export interface PolicyPeer {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr: string; except?: string[] };
}

export interface PolicyPort {
  port?: number | string;
  endPort?: number;
  protocol?: string;
}

export interface PolicyRule {
  from?: PolicyPeer[];
  to?: PolicyPeer[];
  ports?: PolicyPort[];
}

export interface NetworkPolicy {
  metadata: { name: string; namespace: string };
  spec: { podSelector: LabelSelector; policyTypes: string[]; ingress?: PolicyRule[]; egress?: PolicyRule[] };
}

/** A pod with an address of its own. */
export interface PolicyPod {
  namespace: string;
  name: string;
  labels: Record<string, string>;
  address: string;
}

/** What the policies are about. */
export interface PolicyWorld {
  policies: NetworkPolicy[];
  pods: PolicyPod[];
  /** Labels by name. */
  namespaces: Record<string, Record<string, string>>;
}
