import { z } from 'zod';
import { inKubernetes } from '../kubernetes-rule.ts';

/**
 * A string with a bounded number of characters. They are counted as people and Kubernetes do, by code points; zod's own
 * `max` counts UTF-16 units, by which one emoji is two.
 */
export function textSchema(min: number, max: number): z.ZodString {
  const base = min === 0 ? z.string() : z.string().min(min);
  return base
    .refine((value) => value.length <= max || [...value].length <= max, {
      message: `must have at most ${max} characters`,
      params: inKubernetes({ keywords: { maxLength: max } }),
    })
    .meta({ maxLength: max });
}
