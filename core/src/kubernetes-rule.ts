/** One rule in CEL, as `x-kubernetes-validations` has it; `self` is the value that the rule belongs to. */
export interface CelRule {
  cel: string;
  /** Absent: the message and the path of the refinement. */
  message?: string;
}

/** How Kubernetes gets a rule that zod checks with code: in CEL, or by keywords of an OpenAPI schema. */
export interface KubernetesRule {
  cel?: readonly CelRule[];
  keywords?: Readonly<Record<string, unknown>>;
}

/**
 * The `params` of a refinement that also hold its rule for Kubernetes, so that both are in one place: the CRDs are
 * generated from them, and a refinement without one fails the generator. A field whose name CEL reserves is written
 * with underscores (`function`: `__function__`).
 */
export function inKubernetes(rule: string | KubernetesRule): { kubernetes: KubernetesRule } {
  return { kubernetes: typeof rule === 'string' ? { cel: [{ cel: rule }] } : rule };
}
