/** The release and its namespace: what the chart's guide says, too. */
export const RELEASE = 'wherry';
export const SYSTEM_NAMESPACE = 'wherry-system';

/** kind's name of a cluster: it cannot be one that a person made. */
export function kindName(name: string): string {
  return `wherry-${name}`;
}

/** The control group of all that runs in a cluster's containers. */
export function controlGroup(name: string): string {
  return `wherry-cluster-${name}`;
}
