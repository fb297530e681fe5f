import { parseDocument } from 'yaml';

/**
 * A CustomResourceDefinition as the chart has it: it must survive its release, because all objects would be deleted
 * with it.
 */
export function chartCrd(text: string): string {
  const document = parseDocument(text);
  document.setIn(['metadata', 'annotations', 'helm.sh/resource-policy'], 'keep');
  return document.toString({ lineWidth: 0 });
}
