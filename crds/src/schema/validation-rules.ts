import type { z } from 'zod';
import type { KubernetesRule } from '@wherry/core/resources/kubernetes-rule.ts';

/** One entry of `x-kubernetes-validations`. */
export interface ValidationRule {
  rule: string;
  message: string;
  fieldPath?: string;
}

/** What the refinements of one schema, without those of its fields, come to in Kubernetes. */
export interface Refinements {
  rules: ValidationRule[];
  keywords: Record<string, unknown>;
  /** What the patterns of a string mean, in words. */
  forms: string[];
}

/** The part of a zod check that is read here; zod does not export its type. */
interface CheckDefinition {
  check: string;
  format?: string;
  path?: string[];
  params?: { kubernetes?: KubernetesRule };
  error?: (issue: { code: string; input: unknown }) => string | { message: string } | undefined;
}

/**
 * Reads the refinements of a schema.
 * @throws RangeError for one that does not say itself in Kubernetes' terms (`inKubernetes`).
 */
export function refinementsOf(schema: z.core.$ZodType, where: string): Refinements {
  const checks = (schema._zod.def.checks ?? []).map((check) => check._zod.def as unknown as CheckDefinition);
  const patterns = checks.filter(({ check, format }) => check === 'string_format' && format === 'regex');
  const found: Refinements = { rules: [], keywords: {}, forms: patterns.map((pattern) => messageOf(pattern, where)) };
  for (const definition of checks.filter(({ check }) => check === 'custom')) {
    const rule = definition.params?.kubernetes;
    if (rule === undefined) throw new RangeError(`${where}: a refinement has no rule for Kubernetes: give it params: inKubernetes(…)`);
    Object.assign(found.keywords, rule.keywords);
    for (const { cel, message } of rule.cel ?? []) {
      const path = definition.path === undefined ? {} : { fieldPath: `.${definition.path.join('.')}` };
      found.rules.push({ rule: cel, message: message ?? messageOf(definition, where), ...path });
    }
  }
  return found;
}

function messageOf({ error }: CheckDefinition, where: string): string {
  const made = error?.({ code: 'custom', input: undefined });
  const message = typeof made === 'object' ? made.message : made;
  if (message === undefined) throw new RangeError(`${where}: a refinement or a pattern has no message`);
  return message;
}
