import type { z } from 'zod';
import type { KubernetesRule } from '@wherry/core/kubernetes-rule.ts';
import { toRe2 } from './re2.ts';

/** One entry of `x-kubernetes-validations`. */
export interface ValidationRule {
  rule: string;
  message: string;
  fieldPath?: string;
}

/** What the refinements of one schema, without those of its fields, become in Kubernetes. */
interface Refinements {
  rules: ValidationRule[];
  keywords: Record<string, unknown>;
}

/** The part of a zod check that is read here; zod does not export its type. */
interface CheckDefinition {
  check: string;
  format?: string;
  pattern?: RegExp;
  path?: string[];
  params?: { kubernetes?: KubernetesRule };
  error?: (issue: { code: string; input: unknown }) => string | { message: string } | undefined;
}

/**
 * Reads the refinements of a schema, and its patterns: for a pattern, Kubernetes would show people the regular
 * expression; for a rule it shows our message.
 * @throws RangeError for one without a form for Kubernetes (`inKubernetes`).
 */
export function refinementsOf(schema: z.core.$ZodType, where: string): Refinements {
  const found: Refinements = { rules: [], keywords: {} };
  for (const { _zod } of schema._zod.def.checks ?? []) {
    const definition = _zod.def as unknown as CheckDefinition;
    if (definition.check === 'custom') addCustom(found, definition, where);
    else if (definition.format === 'regex')
      found.rules.push({ rule: matching(definition.pattern, where), message: messageOf(definition, where) });
  }
  return found;
}

function addCustom(found: Refinements, definition: CheckDefinition, where: string): void {
  const rule = definition.params?.kubernetes;
  if (rule === undefined)
    throw new RangeError(`${where}: a refinement has no rule for Kubernetes: give it params: inKubernetes(…)`);
  Object.assign(found.keywords, rule.keywords);
  const path = definition.path === undefined ? {} : { fieldPath: `.${definition.path.join('.')}` };
  for (const { cel, message } of rule.cel ?? [])
    found.rules.push({ rule: cel, message: message ?? messageOf(definition, where), ...path });
}

function matching(pattern: RegExp | undefined, where: string): string {
  if (pattern === undefined || pattern.flags !== '' || pattern.source.includes('"'))
    throw new RangeError(`${where}: a pattern has flags or a quotation mark`);
  return `self.matches(r"${toRe2(pattern.source)}")`;
}

function messageOf({ error }: CheckDefinition, where: string): string {
  const made = error?.({ code: 'custom', input: undefined });
  const message = typeof made === 'object' ? made.message : made;
  if (message === undefined) throw new RangeError(`${where}: a refinement or a pattern has no message`);
  return message;
}
