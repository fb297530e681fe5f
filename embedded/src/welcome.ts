/** A URL for people on this machine; a wildcard address is shown as localhost. */
export function urlOf(host: string | undefined, port: number): string {
  const everywhere = host === undefined || ['0.0.0.0', '::', '127.0.0.1', '::1'].includes(host);
  const shown = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}

export interface WelcomeFacts {
  functionUrl: string;
  managementUrl: string;
  dataDirectory: string;
  /** Undefined: there is no ops listener. */
  opsUrl?: string | undefined;
  /** On the first start. */
  managementKey?: { value: string; generated: boolean } | undefined;
  /** While there is no user. */
  setupToken?: string | undefined;
  /** Whether functions run as the user of the service: this process cannot become another user. */
  sharedUser: boolean;
}

/** What a person sees when the service is ready. A key that was generated is shown here and nowhere else. */
export function welcome({
  functionUrl,
  managementUrl,
  dataDirectory,
  opsUrl,
  managementKey,
  setupToken,
  sharedUser,
}: WelcomeFacts): string {
  const lines = [
    'Wherry is ready.',
    `  Functions:   ${functionUrl}/run/`,
    `  Management:  ${managementUrl}/api/`,
    `  API docs:    ${managementUrl}/api/docs`,
    `  Data:        ${dataDirectory}`,
  ];
  if (opsUrl !== undefined) lines.push(`  Metrics:     ${opsUrl}/metrics`);
  if (managementKey?.generated === true) lines.push(`  Management key, shown only now: ${managementKey.value}`);
  if (managementKey?.generated === false) lines.push('  Management key: the one in WHERRY_MANAGEMENT_KEY');
  if (setupToken !== undefined) lines.push(`  Setup token, with which the first user is created: ${setupToken}`);
  if (sharedUser)
    lines.push(
      '  Functions run as the same user as the service, with its rights on this machine. Start it as root, or use Kubernetes, to keep them apart.',
    );
  return lines.join('\n');
}
