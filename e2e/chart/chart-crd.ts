import { parseDocument } from 'yaml';

/**
 * A CustomResourceDefinition as the chart has it: with its release it must not go, since all objects would go with it.
 */
export function chartCrd(text: string): string {
  const document = parseDocument(text);
  document.setIn(['metadata', 'annotations', 'helm.sh/resource-policy'], 'keep');
  return document.toString({ lineWidth: 0 });
}
