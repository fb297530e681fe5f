/**
 * Names of headers, in lower case, that browsers and proxies send with most calls and that have the length of a key:
 * they are known to be none, which spares each call the digests.
 */
export const STANDARD_NAMES: ReadonlySet<string> = new Set([
  'access-control-request-headers',
  'access-control-request-method',
  'access-control-request-private-network',
  'cf-connecting-ip',
  'content-encoding',
  'content-language',
  'content-location',
  'if-modified-since',
  'if-unmodified-since',
  'proxy-authorization',
  'sec-ch-ua-full-version-list',
  'sec-ch-ua-mobile',
  'sec-ch-ua-platform',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
  'transfer-encoding',
  'upgrade-insecure-requests',
  'x-cloud-trace-context',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-proto',
  'x-forwarded-scheme',
  'x-forwarded-server',
  'x-original-forwarded-for',
  'x-requested-with',
]);
