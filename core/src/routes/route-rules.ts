import type { CelRule } from '../kubernetes-rule.ts';

const LITERAL = `([-A-Za-z0-9._~!$&'()+,;=@]|%[0-9A-Fa-f]{2})+`;
const PARAMETER = ':[A-Za-z_][A-Za-z0-9_]*';

/** One UTF-8 character beyond ASCII, percent-encoded (RFC 3629: no overlong form, no surrogate). */
const CONTINUED = '%[89ab][0-9a-f]';
const BEYOND_ASCII = [
  `%(c[2-9a-f]|d[0-9a-f])${CONTINUED}`,
  `%e0%[ab][0-9a-f]${CONTINUED}`,
  `%(e[1-9a-cef])(${CONTINUED}){2}`,
  `%ed%[89][0-9a-f]${CONTINUED}`,
  `%f0%[9ab][0-9a-f](${CONTINUED}){2}`,
  `%f[1-3](${CONTINUED}){3}`,
  `%f4%8[0-9a-f](${CONTINUED}){2}`,
].join('|');

/**
 * What `parseRoute` requires of a pattern, in CEL. Both refuse the same patterns: a test tries generated ones with
 * `parseRoute` and a real kube-apiserver.
 */
export const ROUTE_RULES: readonly CelRule[] = [
  { cel: "self.startsWith('/')", message: 'must begin with /' },
  { cel: "self == '/' || !self.endsWith('/')", message: 'must not end with / (only / itself does)' },
  { cel: "!self.contains('//')", message: 'must not contain an empty segment (//)' },
  { cel: "!self.contains('/*/')", message: 'may contain * only as its last segment' },
  {
    cel: matches(`^[^/]*(/(${LITERAL}|${PARAMETER}|[*])?)*$`),
    message: 'must consist of segments that are each a literal, a :parameter or *',
  },
  { cel: `!${matches('(?i)%(2f|5c|00)')}`, message: 'must not contain %2F, %5C or %00' },
  {
    cel: matches(`(?i)^([^%]|%[0-7][0-9a-f]|${BEYOND_ASCII})*$`),
    message: 'must contain only escapes that are valid UTF-8',
  },
  { cel: `!${matches('(?i)/([.]|%2e){1,2}(/|$)')}`, message: 'must not contain . or .. segments' },
  {
    // Comparing a list's parts with each other would cost more than Kubernetes allows.
    cel: "self.findAll('/:[^/]+').all(name, (self + '/').indexOf(name + '/') == (self + '/').lastIndexOf(name + '/'))",
    message: 'must name each parameter once',
  },
];

function matches(pattern: string): string {
  return `self.matches(r"${pattern}")`;
}
