/** CPU as Kubernetes itself writes it back: `250m`, `2`. Another form of the same would look like a foreign edit. */
export function cpuQuantity(millis: number): string {
  return millis % 1000 === 0 ? String(millis / 1000) : `${millis}m`;
}

/** Memory as Kubernetes itself writes it back: `128Mi`, `2Gi`. */
export function memoryQuantity(mib: number): string {
  return mib % 1024 === 0 ? `${mib / 1024}Gi` : `${mib}Mi`;
}
